"""Task files to pools of training and evaluation tasks; labelled trajectories to a training set."""

from components.tasks.checksums import require_pinned, require_sets
from components.tasks.construction import Constructed, add_rubrics, decompose, level_counts, write_tasks
from components.tasks.curation import curate, curate_rft, mix
from components.tasks.decomposition import subsets
from components.tasks.dedup import dedup
from components.tasks.difficulty import (
    Level,
    difficulty_of,
    level_of,
    require_levels,
    with_horizon,
    without_horizon,
)
from components.tasks.embedding import embed
from components.tasks.filters import filter_tasks
from components.tasks.funnel import SELECTION, Funnel, FunnelStep
from components.tasks.proposal import Answer, Ask, Unusable
from components.tasks.rejections import TooManyRejected, require_few_rejected, write_rejections_csv
from components.tasks.sampling import mixture, shuffled
from components.tasks.site_addresses import at_sites, unserved
from components.tasks.sources import Loaded, Origin, load_files, parse_rows
from components.tasks.split import split_by_website
from components.tasks.start_pages import check_start_pages, require_an_answer
from components.tasks.validation import set_aside

__all__ = [
    "SELECTION",
    "Answer",
    "Ask",
    "Constructed",
    "Funnel",
    "FunnelStep",
    "Level",
    "Loaded",
    "Origin",
    "TooManyRejected",
    "Unusable",
    "add_rubrics",
    "at_sites",
    "check_start_pages",
    "curate",
    "curate_rft",
    "decompose",
    "dedup",
    "difficulty_of",
    "embed",
    "filter_tasks",
    "level_counts",
    "level_of",
    "load_files",
    "mix",
    "mixture",
    "parse_rows",
    "require_an_answer",
    "require_few_rejected",
    "require_levels",
    "require_pinned",
    "require_sets",
    "set_aside",
    "shuffled",
    "split_by_website",
    "subsets",
    "unserved",
    "with_horizon",
    "without_horizon",
    "write_rejections_csv",
    "write_tasks",
]
