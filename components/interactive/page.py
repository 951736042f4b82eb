"""A task on any page: the recipe, the site and the hosts with which it is done."""

from __future__ import annotations

from dataclasses import dataclass

from components.browser import Site
from components.browser.site import is_on
from components.interactive.hosts import HostRules
from components.interactive.options import RunOptions, recipe_of_run, start_address, task_of
from components.params import Params
from components.records import Task
from components.worlds import worlds_of


@dataclass(frozen=True)
class PageTask:
    """What a run on any page needs."""

    params: Params
    """The recipe with the settings of the run. Its egress rules are `rules`, unless there is a site."""
    task: Task
    site: Site | None
    """The site of the recipe's world that serves the first page; None for other pages."""
    rules: HostRules


def page_task(options: RunOptions, params: Params) -> PageTask:
    """The task of a run.

    Raises:
        RunError: the address, the intent or a further host is wrong.
    """
    url = start_address(options.url)
    task = task_of(options.intent, url)
    params = recipe_of_run(params, options)
    site = next((site for site in worlds_of(params).sites() if site is not None and is_on(site, url)), None)
    rules = HostRules.of(url, options.allow, params.browser.egress)
    if site is None:
        params = params.model_copy(update={"browser": params.browser.model_copy(update={"egress": rules.egress})})
    return PageTask(params, task, site, rules)
