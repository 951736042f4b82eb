"""Whether the agent completed its task: prompts for judges, verdicts, rules, rewards, and agreement with labels.

- `rules_verdict` decides from the record; `assisted_rules` asks a model where a rule alone cannot decide.
- `ModelJudge` asks models behind endpoints by one of `protocols`, through the `JudgeClients` that all judges of a run
  share; `verdicts` parses their answers.
- `judge_run` judges the trajectories of any file or folder (`waymark judge run`); `judges` finds a judge by its name.
- `calibration_run` compares judges with labels (`waymark judge calibrate`): `labels` reads the labels
  (`expert_annotations` the published ones), `calibration` computes the figures, `calibration_table` prints them.
- `blocked_pages` asks which last pages keep the agent out (`waymark blocklist --learn --ask`).

`components.judge.distilled` is not imported here, because it needs torch.
"""

from components.judge.agreement import Agreement, agreement
from components.judge.assisted import assisted_rules, assisted_verdict
from components.judge.clients import JudgeClients
from components.judge.model_judge import Judgement, JudgeOutage, ModelJudge
from components.judge.prompts import JudgePrompt, judge_prompt
from components.judge.reward import JudgeFn, reward
from components.judge.rules import RuleError, probes_of, require_rules, rules_verdict, undecidable_tasks
from components.judge.verdicts import parse_verdict, verdict_text
from components.success import needs_judge

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
    "undecidable_tasks",
    "verdict_text",
]
