"""Run a suite on a frame; a table that breaks a promise stops its stage and leaves a page that shows where."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from components.quality import suites

if TYPE_CHECKING:
    from great_expectations.core.expectation_validation_result import ExpectationSuiteValidationResult as Result
    from great_expectations.data_context import AbstractDataContext

SUITES: dict[str, Callable[..., suites.Suite]] = {
    "tasks": suites.tasks,
    "trajectories": suites.trajectories,
    "verdicts": suites.verdicts,
    "training": suites.training,
}
_SITE = "waymark"
_SHOWN = 5
"""Broken values that an error quotes; the page has more."""


class QualityError(ValueError):
    """A table that is not fit for the next stage. One line per broken expectation, then the page to open."""


def check(suite: str, frame: pd.DataFrame, *, docs_dir: Path, **context: object) -> None:
    """Hold a frame against a suite.

    Args:
        suite: a key of `SUITES`; its function in `components/quality/suites.py` says what is promised.
        docs_dir: where `<suite>/index.html` (Data Docs) is written if the table fails; a page of an earlier failure
            is removed.
        context: what the suite is held against, by the names of its function's arguments.

    Raises:
        QualityError: names each failed expectation with what was observed, and the page.
    """
    if suite not in SUITES:
        raise ValueError(f"no suite {suite!r}; there are {', '.join(SUITES)}")
    os.environ["GX_ANALYTICS_ENABLED"] = "false"  # read when Great Expectations is imported
    import great_expectations as gx

    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    pages = docs_dir / suite
    shutil.rmtree(pages, ignore_errors=True)
    frame, expectations = SUITES[suite](frame, **context)
    gx_context = gx.get_context(mode="ephemeral")
    gx_context.variables.progress_bars = {"globally": False}
    asset = gx_context.data_sources.add_pandas(_SITE).add_dataframe_asset(suite)
    validation = gx_context.validation_definitions.add(
        gx.ValidationDefinition(
            name=suite,
            data=asset.add_batch_definition_whole_dataframe("table"),
            suite=gx_context.suites.add(gx.ExpectationSuite(name=suite, expectations=expectations)),
        )
    )
    result = validation.run(batch_parameters={"dataframe": frame})
    if not result.success:
        page = _write_docs(gx_context, pages)
        raise QualityError(
            "\n".join([f"{suite}: the table is not fit for the next stage", *_failures(result), f"see {page}"])
        )


def _failures(result: Result) -> list[str]:
    lines = []
    for one in result.results:
        if one.success:
            continue
        config = one.expectation_config
        wanted = {k: v for k, v in config.kwargs.items() if k not in ("batch_id", "column")}
        column = f" {config.kwargs['column']}" if "column" in config.kwargs else ""
        lines.append(f"  {config.type}{column}{f' {wanted}' if wanted else ''}: observed {_observed(one.result)}")
    return lines


def _observed(result: dict) -> str:
    if "unexpected_count" in result:
        values = list(dict.fromkeys(str(value) for value in result["partial_unexpected_list"]))
        more = ", ..." if len(values) > _SHOWN else ""
        shown = ", ".join(values[:_SHOWN]) + more
        return f"{result['unexpected_count']} of {result['element_count']} rows, such as {shown}"
    if "observed_value" in result:
        return str(result["observed_value"])
    return "an error while it was computed (the page has it)"


def _write_docs(gx_context: AbstractDataContext, pages: Path) -> Path:
    gx_context.add_data_docs_site(
        _SITE,
        {
            "class_name": "SiteBuilder",
            "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
            "store_backend": {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(pages.resolve())},
        },
    )
    gx_context.build_data_docs([_SITE])
    return pages / "index.html"
