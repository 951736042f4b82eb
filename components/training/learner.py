"""What learns in RL: a model, its optimiser, the policy it holds on to, and their checkpoint.

Every process of a team has one; what involves all of them is a job. Names: an update's `number` is its iteration,
counted from 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint.state_dict import (
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)

from components.agent import Renderer
from components.params import Params
from components.policies import VLM, Encoder
from components.records import Trajectory
from components.rollout import Group
from components.store import publish, read_table
from components.training.objectives import OBJECTIVES
from components.training.rft import fine_tune
from components.training.sharding import WHOLE, is_sharded, shard, trained_state, whole_state
from components.training.team import Team
from components.training.update import UpdateStats, update

Weights = dict[str, torch.Tensor]


@dataclass
class Learner:
    """A model in training. `begin` makes one."""

    vlm: VLM
    encoder: Encoder
    params: Params
    optimizer: torch.optim.Optimizer
    reference: VLM | None
    taught: Sequence[Trajectory] = ()
    """The demonstrations that rejection fine-tuning mixes in."""
    behind: list[Weights | None] = field(default_factory=list)
    """The trained weights before each of the last updates, the newest first, None for an iteration without an update;
    as many as rollouts may be behind (`rl.max_staleness`)."""
    lent: Weights = field(default_factory=dict)
    """Weights that `gathered` gives instead of the model's own."""
    progress: Callable[[int, int], None] = field(default=lambda done, total: None)
    """Gets optimiser steps done and in all."""

    @classmethod
    def begin(cls, vlm: VLM, params: Params, team: Team, taught: Sequence[Trajectory] = ()) -> Learner:
        """Prepare a model as the stage loaded it: adapters or frozen parts, an optimiser, the objective's reference."""
        vlm.prepare(params.model, params.seed, dropout=False)
        rl = params.rl
        held = rl.objective != "rft" and OBJECTIVES[rl.objective].needs_reference and rl.kl > 0
        reference = vlm.frozen_copy() if held else None
        if params.training.shard and team.size > 1:
            shard(vlm, team)
            if reference is not None:
                shard(reference, team)
        optimizer = torch.optim.AdamW(vlm.trainable(), lr=rl.lr, betas=rl.betas, weight_decay=rl.weight_decay)
        return cls(vlm, Encoder(vlm), params, optimizer, reference, taught)

    def update(self, groups: list[Group], number: int, team: Team) -> UpdateStats:
        """One update on effective groups; rejection fine-tuning selects from all groups.

        Raises:
            Diverged: a gradient is not finite.
            TrainerMismatch: the trainer does not see what the policy saw.
        """
        rl, model = self.params.rl, self.params.model
        if rl.staleness:
            self.remember(self._copied_weights())
        seed = self.params.seed * 100_003 + number
        if rl.objective == "rft":
            return fine_tune(self.vlm, self.encoder, groups, self.taught, self.params, seed, self.progress, team)
        return update(
            self.vlm,
            self.encoder,
            Renderer(self.params.agent, self.params.observation, model.think_prefix),
            groups,
            rl,
            self.optimizer,
            seed,
            self.progress,
            self.reference,
            team,
            stale=rl.asynchronous and number > 1,
        )

    def weights(self) -> Weights:
        """The model's state without its frozen parameters, which are as the stage loaded them. Of a model that is
        spread over processes the leader gets it, and all must ask."""
        state = trained_state(self.vlm) if is_sharded(self.vlm) else self.vlm.model.state_dict()
        return {name: tensor for name, tensor in state.items() if name not in self._frozen()}

    def gathered(self, adapters: bool = False) -> Weights | None:
        """The whole state of a model that is spread, or that of its `adapters`, on the leader; None if it is not one.
        All processes call this."""
        if not is_sharded(self.vlm):
            return None
        return (self.weights() if adapters else whole_state(self.vlm)) | self.lent

    def remember(self, before: Weights | None) -> None:
        """Keep the weights from before an update, or None for an iteration that has none."""
        self.behind = [before, *self.behind][: self.params.rl.staleness]

    @contextmanager
    def updates_back(self, count: int) -> Iterator[None]:
        """The model as it was before its last `count` updates, for so long as it takes to copy it. One that is spread
        stays as it is, and the leader, who alone calls this, gathers the weights from before."""
        before = next((weights for weights in reversed(self.behind[:count]) if weights is not None), None)
        if before is None:
            yield
            return
        if is_sharded(self.vlm):
            self.lent = before
            try:
                yield
            finally:
                self.lent = {}
            return
        now = self._copied_weights()
        self.vlm.model.load_state_dict(before, strict=False)
        try:
            yield
        finally:
            self.vlm.model.load_state_dict(now, strict=False)

    def save(self, path: Path, state: dict[str, Any], leads: bool = True) -> None:
        """Write a checkpoint in one step, with the loop's own state; all processes call this, the leader writes."""
        spread = is_sharded(self.vlm)
        optimizer = (
            get_optimizer_state_dict(self.vlm.model, self.optimizer, options=WHOLE)
            if spread
            else self.optimizer.state_dict()
        )
        held = {"model": self.weights(), "behind": self.behind, "optimizer": optimizer, "sharded": spread}
        if leads:
            partial = path.with_name(f".{path.name}.part")
            torch.save({**held, "state": state}, partial)
            publish(partial, path)

    def load(self, path: Path) -> dict[str, Any] | None:
        """Take a checkpoint over and return the loop's state; None if there is none. All processes call this.

        Raises:
            RuntimeError: it lacks something that is trained, or is of another kind.
        """
        if not path.exists():
            return None
        spread = is_sharded(self.vlm)
        where = "cpu" if spread else self.vlm.model.device  # of what is spread, a process takes its part from the file
        saved: dict[str, Any] = torch.load(path, map_location=where, mmap=spread, weights_only=True)
        trained = {name for name, parameter in self.vlm.model.named_parameters() if parameter.requires_grad}
        if missing := trained - saved["model"].keys():
            raise RuntimeError(
                f"{path} does not hold {min(missing)}, which is trained now: delete it to begin the phase anew"
            )
        if saved.get("sharded", False) != spread:
            raise RuntimeError(
                f"{path} was written with training.shard = {str(not spread).lower()}: set it so again, or delete the "
                "file to begin the phase anew"
            )
        if spread:
            set_model_state_dict(self.vlm.model, saved["model"], options=WHOLE)
            set_optimizer_state_dict(self.vlm.model, self.optimizer, saved["optimizer"], options=WHOLE)
        else:
            self.vlm.model.load_state_dict(saved["model"], strict=False)
            self.optimizer.load_state_dict(saved["optimizer"])
        self.behind = saved["behind"]
        return saved["state"]

    def _copied_weights(self) -> Weights:
        """`weights` that no update changes; what is gathered is a copy already."""
        weights = self.weights()
        return weights if is_sharded(self.vlm) else {name: tensor.clone() for name, tensor in weights.items()}

    def _frozen(self) -> set[str]:
        parameters = self.vlm.model.named_parameters(remove_duplicate=False)
        return {name for name, parameter in parameters if not parameter.requires_grad}


def enlist(team: Team, path: Path, params: Params, demonstrations: Path | None = None) -> None:
    """A job: give every process a learner; the leader may have one. `demonstrations` are those of SFT, for RFT."""
    if "learner" not in team.held:
        taught = read_table(demonstrations, Trajectory) if demonstrations is not None else []
        team.held["learner"] = Learner.begin(VLM.load(path, params.model, train=True), params, team, taught)


def resume(team: Team, checkpoint: Path) -> dict[str, Any] | None:
    """A job: take a checkpoint over."""
    return team.held["learner"].load(checkpoint)


def learn(team: Team, groups: list[Group], number: int) -> UpdateStats:
    """A job: an update that all processes share."""
    return team.held["learner"].update(groups, number, team)


def keep(team: Team, checkpoint: Path, state: dict[str, Any]) -> None:
    """A job: write a checkpoint."""
    team.held["learner"].save(checkpoint, state, team.leads)


def gather(team: Team, adapters: bool = False) -> Weights | None:
    """A job: the whole state of a model that is spread, or that of its `adapters`; None if it is not."""
    return team.held["learner"].gathered(adapters)
