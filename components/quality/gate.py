"""Runs a suite on a table. A table that fails an expectation stops its stage and leaves a page with the failures."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from components.imports import without_collector
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
_MAX_SHOWN = 5
"""Unexpected values that an error quotes; the page has more."""


class QualityError(ValueError):
    """A table that the next stage cannot use: each failed expectation with the remedy, if it has one, then the page to
    open."""


def check(suite: str, frame: pd.DataFrame, *, docs_dir: Path, **context: object) -> None:
    """Validate a table with a suite.

    Args:
        suite: a key of `SUITES`; its function in `components/quality/suites.py` has the expectations.
        docs_dir: where `<suite>/index.html` (Data Docs) is written if the table fails; a page of an earlier failure
            is removed.
        context: the other arguments of the suite's function, by name.

    Raises:
        QualityError: names each failed expectation with the observed values and what a user can change, and the page.
    """
    if suite not in SUITES:
        raise ValueError(f"no suite {suite!r}; there are {', '.join(SUITES)}")
    os.environ["GX_ANALYTICS_ENABLED"] = "false"  # read when Great Expectations is imported
    with without_collector():
        import great_expectations as gx
        from great_expectations.data_context.types.base import ProgressBarsConfig

    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    pages = docs_dir / suite
    shutil.rmtree(pages, ignore_errors=True)
    frame, expectations = SUITES[suite](frame, **context)
    gx_context = gx.get_context(mode="ephemeral")
    gx_context.variables.progress_bars = ProgressBarsConfig(globally=False)
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
    for check_result in result.results:
        config = check_result.expectation_config
        if check_result.success or config is None:
            continue
        arguments = {name: value for name, value in config.kwargs.items() if name not in ("batch_id", "column")}
        column = f" {config.kwargs['column']}" if "column" in config.kwargs else ""
        lines.append(
            f"  {config.type}{column}{f' {arguments}' if arguments else ''}: observed {_observed(check_result.result)}"
        )
        if fix := (config.meta or {}).get(suites.FIX):
            lines.append(f"    {fix}")
    return lines


def _observed(result: dict) -> str:
    if "unexpected_count" in result:
        values = list(dict.fromkeys(str(value) for value in result["partial_unexpected_list"]))
        more = ", ..." if len(values) > _MAX_SHOWN else ""
        shown = ", ".join(values[:_MAX_SHOWN]) + more
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
