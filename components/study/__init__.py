"""Studies: arms of a recipe, which differ in named keys, over several seeds, compared by task and seed.

`study_file` reads a study, `expansion` makes the recipes of its runs, `results` reads what they found, `effects`
estimates what the arms do, and `reporting` writes the page. `flows.study` runs the stages.
"""

from components.study.comparison import ArmResult, StudyResult, compare
from components.study.effects import Effect, effects
from components.study.expansion import Run, Study, load_study, plan
from components.study.page import summary
from components.study.reporting import StudyReport, report
from components.study.study_file import STUDIES, Arm, PaperClaim, StudyFile, find_study, read_study

__all__ = [
    "STUDIES",
    "Arm",
    "ArmResult",
    "Effect",
    "PaperClaim",
    "Run",
    "Study",
    "StudyFile",
    "StudyReport",
    "StudyResult",
    "compare",
    "effects",
    "find_study",
    "load_study",
    "plan",
    "read_study",
    "report",
    "summary",
]
