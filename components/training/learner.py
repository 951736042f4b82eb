"""The learner of RL: a model in training, its optimiser, the policy that its objective refers to, and its checkpoint.

Every process has one (`workers.Replicas`), and all of them take part in each method that says so. The `number` of an
update is its iteration, counted from 1.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor

from components.model import VLM, Encoder
from components.params import Params
from components.records import Trajectory
from components.rollout import Group
from components.store import publish, read_table
from components.training.objectives import Objective, UpdateContext, UpdateStats, objective_of
from components.training.optim import adamw, warm_up
from components.training.sharding import WHOLE, is_sharded, local, shard, whole, whole_state
from components.training.training_state import Weights, frozen_names, read_state, restore, state_of, trained_weights
from components.training.workers import SINGLE_PROCESS, Workers

OPTIMIZER = "optimizer.pt"
"""The optimiser's state in the directory of a model, for the next phase; the registry leaves it out."""


@dataclass
class Learner:
    """A model in training. `begin` and `load_model` make one."""

    vlm: VLM
    encoder: Encoder
    params: Params
    optimizer: torch.optim.Optimizer
    objective: Objective
    reference: VLM | None = None
    """The policy with which the phase began, a moving average of the policies since then
    (`rl.objective.anchor_decay`), or the SFT policy (`rl.objective.reference`), if the objective needs it."""
    demonstrations: Sequence[Trajectory] = ()
    """The trajectories of SFT, if the objective needs them."""
    workers: Workers = field(default_factory=Workers)
    earlier_weights: list[Weights | None] = field(default_factory=list)
    """The trained weights before each of the last updates, the newest first; None for an iteration without an update.
    There are as many as rollouts may be behind (`rl.max_staleness`)."""
    progress: Callable[[int, int], None] = field(default=lambda done, total: None)
    """Gets optimiser steps done and in all."""
    threads: int = field(default_factory=torch.get_num_threads)
    """Number of PyTorch's threads in an update: that of the thread that made the learner. Sums are rounded by it, and a
    thread of a pool may have another one, because it gets what the decoder had set when the thread was first used."""
    earlier_updates: int = 0
    """The number of iterations that earlier phases were to have, so that no two updates have the same seed."""
    reference_from: Path | None = None
    """The directory of the reference, if it does not move and is known."""
    begun_from: Path | None = None
    """The directory of the model with which the phase began, if it is known. With adapters, the weights beneath them
    are still its weights."""
    _substitute: Weights = field(default_factory=dict)
    """Weights that `gathered_weights` returns in place of the model's own, while an earlier version is handed out."""

    @classmethod
    def begin(
        cls,
        vlm: VLM,
        params: Params,
        workers: Workers = SINGLE_PROCESS,
        demonstrations: Sequence[Trajectory] = (),
        reference: VLM | None = None,
    ) -> Learner:
        """Prepare a loaded model in place for training: adapters or frozen parts, shards, optimiser, reference.

        Args:
            reference: another model, which is frozen in place; None takes a copy of this one if the objective needs it.
        """
        vlm.prepare(params.model, params.sampling_seed, dropout=False)
        rl, objective = params.rl, objective_of(params)
        if reference is not None:
            reference.model.eval().requires_grad_(False)
            reference.share_frozen_tower(vlm)
        elif objective.needs_reference:
            reference = vlm.frozen_copy()
        if params.training.shard and workers.size > 1:
            shard(vlm, workers)
            if reference is not None:
                shard(reference, workers)
        optimizer = adamw(vlm, rl.lr, rl.betas, rl.weight_decay)
        warm_up(optimizer, rl.warmup_steps)
        encoder = Encoder(vlm, params.model.image_cache)
        return cls(vlm, encoder, params, optimizer, objective, reference, demonstrations, workers)

    @classmethod
    def load_model(
        cls,
        workers: Workers,
        model: Path,
        params: Params,
        phase: str,
        demonstrations: Path | None = None,
        reference: Path | None = None,
    ) -> Learner:
        """`begin` with the model in a directory and the table of demonstrations, for `Workers.replicate`.

        Args:
            phase: `short` or `long`.
            reference: the directory of the reference policy; None is the model itself.
        """
        trajectories = read_table(demonstrations, Trajectory) if demonstrations is not None else []
        fixed = None if reference is None else VLM.load(reference, params.model, train=True)  # the model's own dtype
        learner = cls.begin(VLM.load(model, params.model, train=True), params, workers, trajectories, fixed)
        learner.earlier_updates = params.rl.short.iterations if phase == "long" else 0
        learner.begun_from = model
        if learner.reference is not None and learner._anchor_decay is None:
            learner.reference_from = reference or model
        if (model / OPTIMIZER).exists():
            learner.take_over(torch.load(model / OPTIMIZER, map_location="cpu", mmap=True, weights_only=True))
        return learner

    def update(self, groups: Sequence[Group], number: int) -> UpdateStats:
        """One update with the objective, on groups that `Objective.training_groups` chose. All ranks call this.

        Raises:
            Diverged: a gradient is not finite.
            TrainerMismatch: the trainer does not see what the policy saw.
        """
        torch.set_num_threads(self.threads)
        rl = self.params.rl
        if rl.max_staleness:
            self.remember(self._copied_weights())
        context = UpdateContext(
            self.vlm,
            self.encoder,
            self.params,
            self.optimizer,
            seed=self.params.sampling_seed * 100_003 + self.earlier_updates + number,
            reference=self.reference,
            demonstrations=self.demonstrations,
            workers=self.workers,
            stale=rl.max_staleness > 0 and number > 1,
            progress=self.progress,
        )
        stats = self.objective.update(context, groups)
        self._move_reference()
        return stats

    def weights(self) -> Weights:
        """The model's state without its frozen parameters, which are as the stage loaded them. Of a sharded model the
        main process gets the whole state, and all ranks call this."""
        return trained_weights(self.vlm)

    def gathered_weights(self, adapters: bool = False) -> Weights | None:
        """The whole state of a sharded model, or that of its `adapters` only, on the main process; None if the model is
        not sharded. All ranks call this."""
        if not is_sharded(self.vlm):
            return None
        state = self.weights() if adapters else whole_state(self.vlm)
        return None if state is None else state | self._substitute

    def release_memory(self) -> None:
        """Give back the GPU memory of the last update that torch keeps for the next one. All ranks call this."""
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def optimizer_state(self) -> dict[str, Any] | None:
        """The optimiser's state by names of parameters, for a later phase. None on other ranks than the main process,
        and if there is nothing to carry: no step was taken, the weights are adapters, or the recipe says so. All ranks
        call this."""
        if not self.params.rl.carry_optimizer or self.vlm.has_lora or not self.optimizer.state:
            return None
        whole: dict[str, Any] = get_optimizer_state_dict(self.vlm.model, self.optimizer, options=WHOLE)
        return whole.get("state")  # other ranks get an empty dictionary

    def take_over(self, state: dict[str, Any]) -> None:
        """Begin with the state of an earlier phase's optimiser (`optimizer_state`), and this recipe's learning rate and
        decays. All ranks call this."""
        if not self.params.rl.carry_optimizer or self.vlm.has_lora:
            return
        own = get_optimizer_state_dict(self.vlm.model, self.optimizer, options=StateDictOptions(strict=False))
        set_optimizer_state_dict(self.vlm.model, self.optimizer, {**own, "state": state}, options=WHOLE)

    def remember(self, before: Weights | None) -> None:
        """Keep the weights from before an update, or None for an iteration that has no update."""
        self.earlier_weights = [before, *self.earlier_weights][: self.params.rl.max_staleness]

    @contextmanager
    def at_earlier_update(self, count: int) -> Iterator[None]:
        """Temporarily restore the weights from `count` updates ago, on the main process.

        A sharded model keeps its weights; `gathered_weights` returns the earlier ones meanwhile.
        """
        before = next((weights for weights in reversed(self.earlier_weights[:count]) if weights is not None), None)
        if before is None:
            yield
            return
        if is_sharded(self.vlm):
            self._substitute = before
            try:
                yield
            finally:
                self._substitute = {}
            return
        now = self._copied_weights()
        self.vlm.model.load_state_dict(before, strict=False)
        try:
            yield
        finally:
            self.vlm.model.load_state_dict(now, strict=False)

    def save(self, path: Path, state: dict[str, Any]) -> None:
        """Write a checkpoint atomically, with the loop's own state. All ranks call this; the main process writes."""
        checkpoint = {
            **state_of(self.vlm, self.optimizer),
            "behind": self.earlier_weights,
            "state": state,
            "reference": self._reference_weights(),
        }
        if self.workers.is_main:
            partial = path.with_name(f".{path.name}.part")
            torch.save(checkpoint, partial)
            publish(partial, path)

    def load(self, path: Path) -> dict[str, Any] | None:
        """Restore a checkpoint and return the loop's state; None if there is no checkpoint. All ranks call this.

        Raises:
            RuntimeError: a trained parameter is missing in the checkpoint, or one of model and checkpoint is sharded
                and the other is not.
        """
        if not path.exists():
            return None
        saved = read_state(path, self.vlm)
        restore(self.vlm, self.optimizer, saved, path)
        if self._anchor_decay is not None and self.reference is not None:
            if is_sharded(self.vlm):
                set_model_state_dict(self.reference.model, saved["reference"], options=WHOLE)
            else:
                self.reference.model.load_state_dict(saved["reference"], strict=False)
        self.earlier_weights = saved["behind"]
        return saved["state"]

    @property
    def _anchor_decay(self) -> float | None:
        return self.params.rl.objective.reference_decay

    @torch.no_grad()
    def _move_reference(self) -> None:
        """Move the reference towards the model; each rank moves its own part. All ranks call this together."""
        if self.reference is None or self._anchor_decay is None:
            return
        for model in (self.vlm.model, self.reference.model):
            if isinstance(model, FSDPModule):
                model.reshard()  # the last pass left the outermost weights whole
        anchors = dict(self.reference.model.named_parameters())
        for name, parameter in self.vlm.model.named_parameters():
            if parameter.requires_grad:
                anchor = anchors[name]
                # The reference's tower is frozen, and so whole on each rank, also where the model's is sharded
                new = local(parameter) if isinstance(anchor, DTensor) else whole(parameter)
                local(anchor).lerp_(new, 1 - self._anchor_decay)

    def _reference_weights(self) -> Weights:
        """The weights of a reference that moves, without those that are frozen in training; empty on other ranks than
        the main process. All ranks call this."""
        if self.reference is None or self._anchor_decay is None:
            return {}
        whole = whole_state(self.reference)
        state, frozen = self.reference.model.state_dict() if whole is None else whole, frozen_names(self.vlm)
        return {name: tensor for name, tensor in state.items() if name not in frozen}

    def _copied_weights(self) -> Weights:
        """`weights` as copies that no update changes; the gathered weights of a sharded model are copies already."""
        weights = self.weights()
        return weights if is_sharded(self.vlm) else {name: tensor.clone() for name, tensor in weights.items()}
