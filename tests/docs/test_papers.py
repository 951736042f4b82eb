"""The pages of docs/papers have a row for each section of their papers. The section lists are typed from the papers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs/papers"
SECTIONS = {
    "openwebrl": """
        1 Introduction
        2 Related Work
        3 Preliminaries
        4 OpenWebRL: An Online RL Training Framework for Visual Web Agents
        4.1 Agent Harness
        4.2 Data Preparation and Supervised Fine-tuning
        4.3 Reward Design and Judge Model
        4.4 Multimodal Multi-turn GRPO
        5 Experiments
        5.1 Main Results
        5.2 Learning Dynamics of MM-GRPO
        5.3 Evaluation of OpenWebRL-Judge-8B
        5.4 Ablations on Rollout and Context Management
        5.5 Ablations on MM-GRPO Designs
        6 Additional Analysis
        7 Conclusion
        A Implementation Details
        A.1 Robust Web Environment Infra
        A.2 Textual Environment Feedback
        A.3 Action Space
        A.4 Reward Design
        A.5 Training Details
        A.6 Evaluation Details
        B Benchmark Details
        C Additional Experiment Results
        C.1 Task Difficulty Understanding
        C.2 Results on AgentRewardBench
        C.3 Comparison with Online Filtered Behavior Cloning Baseline
        D Proxy-Based Analysis of Response Length
        E Error Analysis
        F Prompt Templates
        F.1 Agent Input and Output
        F.2 OpenWebRL-Judge Input and Output
        G Broader Impacts
        H Additional Case Studies
    """,
    "webgym": """
        1 Introduction
        2 Related Work
        3 Tasks in WebGym and Evaluation Protocol
        3.1 Obtaining a Seed Set of Tasks
        3.2 Task Set Construction Procedure
        3.3 Train-Test Split
        3.4 Statistics: Size, Breadth and Depth
        3.5 Evaluator and Reward Function Design
        4 Rollout System in WebGym
        4.1 Strategy and System Architecture
        4.2 Benchmarking our Rollout System
        5 Training Web Agents with WebGym
        5.1 Experimental Setup
        5.2 Design Choices for Agent Training
        5.3 Main Results: Scaling Agent Performance with WebGym
        6 Discussion and Conclusion
        A Raw Experimental Results
        B Training Environment Designs
        B.1 Rollout System: Operation-specific Local Request Queue
        B.2 Rollout Sampler: Anti-blocking
        C Modeling the Markov Decision Process On Long-Horizon Web Navigation Tasks
        D Qualitative Examples
        D.1 Example Rubrics
        D.2 Comparing Rubric-based Evaluation with Task-based Evaluation
        E Prompts
        E.1 Agent Action Prompt
        E.2 Evaluator Prompt: Keypoint Detection
        E.3 Evaluator Prompt: Per-criteria Evaluation
        E.3.1 Criterion A: Fact Verification
        E.3.2 Criterion B: Response Verification / Anti-Hallucination
        E.4 Evaluator Prompt: Blocking Detection
        E.5 Task Set Generation Prompt: Evaluation Criteria Proposal
        E.6 Task Set Generation Prompt: Task Proposal from Fact Groups
        F Hyper-parameters
    """,
    "webagent-r1": """
        1 Introduction
        2 WebAgent-R1
        2.1 Problem Formulation
        2.2 Behavior Cloning
        2.3 End-to-End Multi-Turn Reinforcement Learning
        3 Experiments
        3.1 Experimental Setup
        3.2 Main Results
        3.3 Training Dynamics
        3.4 Ablation Study
        3.5 Analysis
        4 Related Works
        4.1 LLM-based Agents
        4.2 Reinforcement Learning for LLMs
        5 Conclusion
        A Web Environment
        B Implementation Details
        C Data Augmentation for Behavior Cloning with long-CoT Traces
        D Prompt Templates
        E Qualitative Examples
    """,
    "browseragent": """
        1 Introduction
        2 BrowserAgent
        2.1 Framework Design
        2.2 Dataset Synthesis
        2.3 Environment Setting
        2.4 Training
        3 Experiments
        3.1 Benchmarks
        3.2 Evaluation Metrics
        3.3 Baselines
        3.4 Experimental Setup
        3.5 Experimental Results
        3.6 Ablation
        4 Related Work
        4.1 Rejection sampling Fine-Tuning
        4.2 Agentic Information Seeking
        4.3 Agentic Search
        5 Conclusion and Future Work
        A The Usage of LLMs
        B Appendix
        B.1 Eval Loss Curve
        B.2 Evaluation Prompt
        B.3 System Prompt
        B.4 Case Study
        B.5 Filtering strategy and data ratio
        B.6 Experimental Setup
        B.7 Experimental Results
        B.7.1 Test Step Scaling
        B.7.2 TriviaQA Results
    """,
}
"""Each paper's sections, by the name of its page: a number and a title per line."""


def sections(paper: str) -> dict[str, str]:
    """Titles by section number."""
    lines = [line.strip() for line in SECTIONS[paper].strip().splitlines()]
    return {number: title for number, _, title in (line.partition(" ") for line in lines)}


def rows(paper: str) -> list[list[str]]:
    """The cells of each row of the page's first table, without its head."""
    (table,) = re.findall(r"^\| section .*\n\|[-|]+\n((?:\|.*\n)+)", (PAGES / f"{paper}.md").read_text(), re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


@pytest.mark.parametrize("paper", SECTIONS)
def test_a_page_has_a_row_for_each_section_of_its_paper(paper):
    listed = {number for section, *_ in rows(paper) for number in section.split(", ")}
    assert [f"{number} {title}" for number, title in sections(paper).items() if number not in listed] == []


@pytest.mark.parametrize("paper", SECTIONS)
def test_a_page_names_no_section_that_its_paper_lacks(paper):
    listed = [entry for section, *_ in rows(paper) for entry in section.split(", ")]
    others = [entry for entry in listed if entry not in sections(paper)]
    assert [entry for entry in others if not re.fullmatch(r"tables? \d+(?: to \d+)?|algorithm \d+", entry)] == []


@pytest.mark.parametrize("paper", SECTIONS)
def test_each_row_says_where_its_section_is_implemented_or_that_it_is_not(paper):
    assert [row[0] for row in rows(paper) if len(row) != 5 or row[2] in ("", "none")] == []
