"""`waymark rl drift`: the token that a later policy would no longer write is named, with the text before it."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
import yaml

from components.cli.main import main
from components.model import Encoder
from components.records import Outcome, Trajectory, Verdict
from components.store import write_table
from components.training.agreement import TrainerMismatch
from components.training.forward import PLAIN, response_logprobs, score
from components.training.unlearned_tokens import CONTEXT, NoSuccess, drift, read_successes
from tests.training.updates import RL, group_of, recipe_with, samples_of
from tests.vlm import observation

AT = 3
"""The token of the first turn that the later policy no longer writes."""


@pytest.fixture(scope="module")
def policies(rolled, tmp_path_factory) -> tuple[Path, Path]:
    """A policy, and the same after steps that made one token of its first turn less likely."""
    vlm, trajectories = rolled
    folder = tmp_path_factory.mktemp("policies")
    vlm.save(folder / "before")
    later = copy.deepcopy(vlm)
    encoder = Encoder(later)
    sample = samples_of(group_of(trajectories, [1, 0, 0, 1]), encoder, RL)[0].sample
    optimizer = torch.optim.SGD(later.model.parameters(), lr=0.02)
    for _ in range(20):
        optimizer.zero_grad()
        response_logprobs(later, encoder, [sample])[0][AT].backward()
        optimizer.step()
    later.save(folder / "after")
    return folder / "before", folder / "after"


def test_the_token_that_was_unlearned_has_the_largest_fall(rolled, policies):
    vlm, trajectories = rolled
    result = drift(*policies, trajectories, recipe_with(RL))
    ids = trajectories[0].turns[0].token_ids
    first = max(result.tokens, key=lambda token: token.nats / token.places)
    decode = Encoder(vlm).tokenizer.decode
    assert (first.context, first.token) == (decode(ids[max(0, AT - CONTEXT) : AT]), decode([ids[AT]]))
    assert first.after < first.before / 2


def test_families_and_tokens_add_up_to_the_scores_of_the_two_policies(rolled, policies):
    vlm, trajectories = rolled
    result = drift(*policies, trajectories, recipe_with(RL))
    turns = [turn for trajectory in trajectories for turn in trajectory.turns]
    encoder = Encoder(vlm)
    samples = [turn.sample for turn in samples_of(group_of(trajectories, [1, 0, 0, 1]), encoder, RL)]
    scored = sum(logprobs_T.sum().item() for logprobs_T in score(vlm, encoder, samples, PLAIN, 4096))
    (family,) = result.families
    assert family.turns == len(turns)
    assert sum(token.places for token in result.tokens) == sum(len(turn.token_ids) for turn in turns)
    assert sum(token.nats for token in result.tokens) == pytest.approx(
        family.turns * (family.before - family.after), abs=1e-3
    )
    assert family.before * family.turns == pytest.approx(scored, abs=1e-3)


def test_a_policy_has_no_drift_from_itself(rolled, policies):
    _, trajectories = rolled
    result = drift(policies[0], policies[0], trajectories, recipe_with(RL))
    assert {token.nats for token in result.tokens} == {0.0}


def test_episodes_of_another_recipe_are_refused(rolled, policies):
    _, trajectories = rolled
    turn = trajectories[0].turns[0].model_copy(update={"observation": observation(99)})
    unseen = trajectories[0].model_copy(update={"turns": [turn]})
    with pytest.raises(TrainerMismatch, match="renders to another prompt"):
        drift(*policies, [unseen], recipe_with(RL))


@pytest.fixture
def project(rolled, policies, tmp_path, monkeypatch) -> list[str]:
    """A folder with a recipe and the episodes; the arguments of the command."""
    _, trajectories = rolled
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(recipe_with(RL).model_dump(mode="json")))
    named = [trajectory.model_copy(update={"trajectory_id": f"t{at}"}) for at, trajectory in enumerate(trajectories)]
    verdicts = [
        Verdict(trajectory_id=trajectory.trajectory_id, outcome=outcome, rationale="", judge="rules", judge_version="1")
        for trajectory, outcome in zip(named, [Outcome.SUCCESS, *[Outcome.FAILURE] * (len(named) - 1)], strict=True)
    ]
    write_table(tmp_path / "episodes/trajectories.parquet", Trajectory, named)
    write_table(tmp_path / "episodes/verdicts.parquet", Verdict, verdicts)
    monkeypatch.chdir(tmp_path)
    before, after = map(str, policies)
    return ["rl", "drift", "--before", before, "--after", after, "--episodes", "episodes"]


def test_the_command_counts_successes_and_shows_as_many_tokens_as_asked(rolled, project, capsys):
    assert main([*project, "--most", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("1 successes in episodes: ")
    assert len(lines[lines.index("tokens that became less likely, by the nats lost in all places:") + 1 :]) == 2


def test_the_successes_of_a_folder_are_those_that_its_verdicts_name(project):
    assert [trajectory.trajectory_id for trajectory in read_successes(Path("episodes"))] == ["t0"]
    write_table(Path("episodes/verdicts.parquet"), Verdict, [])
    with pytest.raises(NoSuccess, match=r"^episodes has no success of a model"):
        read_successes(Path("episodes"))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--after", "nowhere"], "nowhere holds no model: train it, or name another with --before or --after"),
        (["--episodes", "none"], "none has no trajectories.parquet: name another folder with --episodes"),
    ],
)
def test_what_is_missing_is_named(project, arguments, reason, capsys):
    assert main([*project, *arguments]) == 1
    assert reason in capsys.readouterr().err


def test_a_damaged_table_is_named(project, capsys):
    table = Path("episodes/trajectories.parquet")
    table.write_bytes(table.read_bytes()[:-40])
    assert main(project) == 1
    assert "episodes/trajectories.parquet is no table of trajectories that can be read" in capsys.readouterr().err


def test_without_a_success_there_is_nothing_to_compare(project, capsys):
    write_table(Path("episodes/verdicts.parquet"), Verdict, [])
    assert main(project) == 1
    assert "episodes has no success of a model" in capsys.readouterr().err
