"""Which tasks of a benchmark run: of a task that begins in several tabs, every tab must be one that may be visited."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from components.benchmarks.spec import Benchmark, load_benchmark
from components.benchmarks.task_selection import SelectedTasks, judgeable_tasks, select_tasks
from components.records import Task
from components.tasks import at_sites, load_files
from tests.benchmarks.price_shops import Shop
from tests.samples import a_task, recipe

ROOT = Path(__file__).parents[2]
VERIFIED = ROOT / "data/benchmarks/webarena-verified.json"
SITES = {
    name: f"http://wa.example:{7770 + port}"
    for port, name in enumerate(("shopping", "shopping_admin", "reddit", "gitlab", "map", "wikipedia"))
}


def benchmark(robots: bool = False) -> Benchmark:
    found = load_benchmark(ROOT / "recipes/benchmarks/webvoyager-595.yaml")
    return found.model_copy(update={"politeness": found.politeness.model_copy(update={"robots": robots})})


def select(tasks: list[Task], private: list[str], robots: bool = False) -> SelectedTasks:
    egress = {"allowed_hosts": [], "private_hosts": private}
    params = recipe()
    browser = params.browser.model_copy(update={"egress": params.browser.egress.model_copy(update=egress)})
    return select_tasks(tasks, 0, params.model_copy(update={"browser": browser}), benchmark(robots), None)


def on(*tabs: str) -> Task:
    return a_task(task_id="live/1", start_url=" |AND| ".join(tabs), website="wa.example", source="live", seed=None)


def test_a_site_that_the_recipe_serves_at_a_published_port_has_an_address(tmp_path):
    file = tmp_path / "shops.jsonl"
    file.write_text(on("__SHOPPING__/lamp").model_dump_json())
    pinned = {"name": file.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest(), "rows": 1, "url": "https://x"}
    shops = Benchmark.model_validate(benchmark().model_dump(mode="json") | {"file": pinned})
    params = recipe(tasks={"sites": {"shopping": "http://localhost:8082"}})
    tasks, _ = judgeable_tasks(shops, params, tmp_path)
    assert [task.start_url for task in tasks] == ["http://localhost:8082/lamp"]


@pytest.mark.parametrize(
    "tabs", [("http://wa.example:7770/a", "http://wa.example:7780"), ("http://a.test", "http://b.test")]
)
def test_a_task_in_several_tabs_runs_where_all_its_sites_are_allowed(tabs):
    hosts = ["wa.example:7770", "wa.example:7780", "a.test", "b.test"]
    assert select([on(*tabs)], hosts).skipped == {}


def test_all_rows_of_webarena_verified_run_where_all_sites_are_allowed():
    if not VERIFIED.exists():
        pytest.skip("the published file is not here")
    tasks = [at_sites(task, SITES) for task in load_files([VERIFIED]).tasks]
    assert sum(" |AND| " in task.start_url for task in tasks) == 53
    selected = select(tasks, [url.removeprefix("http://") for url in SITES.values()])
    assert (len(selected.tasks), selected.skipped) == (812, {})


def test_a_task_with_a_tab_outside_of_the_allowed_hosts_is_left_out():
    tasks = [on("http://wa.example:7770/", "http://elsewhere.example:80/")]
    assert select(tasks, ["wa.example:7770"]).skipped == {"not_allowed": ["live/1"]}


def test_a_task_whose_second_tab_robots_txt_disallows_is_left_out():
    shops = Shop("127.0.0.2"), Shop("127.0.0.4", "User-agent: *\nDisallow: /\n")
    hosts = [f"{shop.host}:{shop.port}" for shop in shops]
    try:
        selected = select([on(*(f"http://{host}/" for host in hosts))], hosts, robots=True)
    finally:
        for shop in shops:
            shop.close()
    assert selected.skipped == {"robots": ["live/1"]}
