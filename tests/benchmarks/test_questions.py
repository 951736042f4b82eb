"""Open questions of a published file's form, asked of a ZIM file that Kiwix serves."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from components.benchmarks.options import Options
from components.benchmarks.run import evaluate
from components.benchmarks.spec import load_benchmark
from components.cli import main
from components.worlds.encyclopaedia import zim
from components.worlds.encyclopaedia.kiwix import INSTALL
from tests.benchmarks.price_shops import PRICES, TRUE_PRICES, call
from tests.endpoint_server import Server, text_of
from tests.samples import shipped

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(shutil.which("kiwix-serve") is None, reason=f"no Kiwix; type `{INSTALL}`")


def reply(asked: dict) -> str:
    """What the model says: the price if it stands on a page that it saw, else the address of the article."""
    seen = text_of(asked)
    costs = re.findall(r"It costs (\d+ euros)", seen)
    if costs:
        return call("done", answer=costs[-1])
    item = re.findall(r"What does the (\w+) cost", seen)[-1]
    return call("goto_url", url=f"http://encyclopaedia/prices/{item}")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A small book of prices in the place of Wikipedia, three questions about it, and a model."""
    monkeypatch.chdir(tmp_path)
    model = Server()
    model.reply = reply
    page = "<html><head><title>{0}</title></head><body><button>It costs {1}</button></body></html>"
    articles = {item: (item, page.format(item, price)) for item, price in PRICES.items()}
    zim.build({"index": ("Prices", page.format("Prices", "little")), **articles}, Path("prices.zim"))

    recipe = shipped("smoke")
    recipe["model"] |= {"base": str(ROOT / "data/base_model"), "judge_base": str(ROOT / "data/base_model")}
    recipe["worlds"] = {"encyclopaedia": {"zim": "prices.zim"}}
    recipe["tasks"] |= {"sites": {"wikipedia": "http://encyclopaedia/"}}
    endpoint = {"url": model.url, "model": "a/model", "key_variable": None, "max_retries": 0}
    recipe["teacher"] = {"policy": "endpoint", "endpoint": endpoint, "tasks": 12}
    Path("params.yaml").write_text(yaml.safe_dump(recipe))

    rows = [
        {"id": f"test_{item}", "question": f"What does the {item} cost?", "golden_answers": [TRUE_PRICES[item]]}
        for item in ("lamp", "chair", "table")
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    Path("prices.jsonl").write_text(text)
    benchmark = load_benchmark(ROOT / "recipes/benchmarks/nq.yaml").model_dump(mode="json")
    pinned = {"name": "prices.jsonl", "sha256": hashlib.sha256(text.encode()).hexdigest(), "rows": len(rows)}
    benchmark |= {"name": "prices", "max_steps": 4, "file": benchmark["file"] | pinned}
    Path("prices.yaml").write_text(yaml.safe_dump(benchmark))
    yield model
    model.close()


@pytest.mark.slow
def test_questions_that_start_at_wikipedia_are_served_from_the_zim_file(project):
    result = evaluate("prices.yaml", Options(model="teacher", files=Path()))
    assert (result.status, result.problem) == ("complete", None)
    # the table's page does not say what its golden answer does
    assert (result.summary.rate, result.summary.n, result.summary.aborted) == (pytest.approx(2 / 3), 3, 0)
    assert len(project.asked) == 6, "one look at the start page and one at the article"
    assert "| measured | a/model (teacher) | 66.7% |" in Path("reports/leaderboard.md").read_text()


@pytest.mark.slow
def test_two_models_are_compared_by_the_files_of_their_runs(project, capsys):
    first = evaluate("prices.yaml", Options(model="teacher", files=Path()))
    broken = Path("reports/benchmarks/broken.json")
    broken.write_text("{")
    recipe = yaml.safe_load(Path("params.yaml").read_text())
    recipe["teacher"]["endpoint"]["model"] = "a/guesser"
    Path("params.yaml").write_text(yaml.safe_dump(recipe))
    project.reply = lambda asked: call("done", answer=PRICES["lamp"])
    second = evaluate("prices.yaml", Options(model="teacher", files=Path()))

    assert "the leaderboard is unchanged: reports/benchmarks/broken.json is not JSON" in capsys.readouterr().out
    assert main.main(["compare", first.name, second.name]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"prices ({first.version}), judged by rules: 3 tasks"
    assert said[1].startswith("  A  a/model (teacher): 66.7% [")
    assert said[2].startswith("  B  a/guesser (teacher): 33.3% [")
    assert said[3].startswith("  A − B: +33.3 points [")
    assert said[3].endswith("; won 1, lost 0, the same 2")
    assert main.main(["compare", first.name, "prices@nobody"]) == 1
    assert "there is no result 'prices@nobody'" in capsys.readouterr().err
