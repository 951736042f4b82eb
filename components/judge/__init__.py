"""Did the agent do what was asked: prompts for judges, their verdicts, rules, rewards, and how well judges agree.

- `rules_verdict` decides from the record, `assisted_rules` asks a model where a rule needs a reader.
- `ModelJudge` asks models behind endpoints by one of `protocols`, through the `JudgeClients` that a run's judges share;
  `verdicts` reads what they answer.
- `calibration`, `contest` and `agent_reward_bench` hold judges against labels (`waymark judge calibrate`).

`components.judge.distilled` is imported by its own name: it needs torch, the rest of the room does not.
"""

from components.judge.agreement import Agreement, agreement
from components.judge.assisted import assisted_rules, assisted_verdict
from components.judge.clients import JudgeClients
from components.judge.model_judge import Judgement, JudgeOutage, ModelJudge
from components.judge.prompts import JudgePrompt, judge_prompt
from components.judge.reward import JudgeFn, needs_judge, reward
from components.judge.rules import RuleError, probes_of, require_rules, rules_verdict
from components.judge.verdicts import parse_verdict, verdict_text

__all__ = [
    "Agreement",
    "JudgeClients",
    "JudgeFn",
    "JudgeOutage",
    "JudgePrompt",
    "Judgement",
    "ModelJudge",
    "RuleError",
    "agreement",
    "assisted_rules",
    "assisted_verdict",
    "judge_prompt",
    "needs_judge",
    "parse_verdict",
    "probes_of",
    "require_rules",
    "reward",
    "rules_verdict",
    "verdict_text",
]
