"""The sections of models, inference, training, evaluation and tracking."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from components.params.dependence import NotWith, OnlyWith
from components.params.harness import SamplingParams
from components.params.optim import DType
from components.params.section import NoEffect, NoEffectOf, Section, Steps, Workers
from components.redaction import redacted

EVALUATION_TIMEOUT_S = 120.0
"""Limit of one response in an evaluation, in seconds (OpenWebRL, table 8)."""


class LoRAParams(Section):
    """Low-rank adapters on the language model's linear layers (Hu et al., 2021)."""

    rank: int = Field(gt=0)
    """Rank r of the two matrices that are trained in place of each weight."""
    alpha: float = Field(gt=0)
    """An adapter's output is scaled by alpha / rank."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    """Dropout on an adapter's input in supervised training. In RL it would add noise to the ratio, so RL uses none."""


class ImageCacheParams(Section):
    """Where a process keeps what it has computed from screenshots, so that each is prepared and encoded once."""

    memory_gib: Annotated[float, NoEffect] = Field(default=0.5, ge=0)
    """Memory of a process for the features of a frozen vision tower, in GiB. Pixels get as much."""
    disk_gib: Annotated[float, NoEffect] = Field(default=0.0, ge=0)
    """Disk for features, in GiB. The processes of a machine share it: each encodes a part of an iteration's images and
    reads the other parts. The oldest files are deleted first. 0 keeps features in memory only."""
    directory: Annotated[str | None, NoEffect, NotWith("disk_gib", 0)] = None
    """Where those files are. Null is `waymark-features` in the system's directory of temporary files."""
    threads: Annotated[int, NoEffect] = Field(default=1, gt=0)
    """Threads of a process that prepare the next images while the tower encodes others."""


class ModelParams(Section):
    """The policy and the judge, both Qwen3-VL."""

    base: str
    """Directory or Hugging Face name of the policy's base. `data/base_model` is the small base of this repository."""
    judge_base: str
    """The same for the judge."""
    dtype: DType = "float32"
    """Numeric type in which the model computes."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Where the trainer and the model in this process compute."""
    train_vision: bool = False
    """False freezes the vision tower in SFT and RL (OpenWebRL, section 4.2)."""
    lora: LoRAParams | None = None
    """Train adapters instead of the weights, in SFT, judge distillation and RL; null trains the weights."""
    gradient_checkpointing: Annotated[bool, NoEffect] = False
    """Compute activations again in the backward pass. It saves memory and takes about a third more time."""
    think_prefix: bool = False
    """True if the chat template of the base opens `<think>` itself (Qwen3-VL Thinking models)."""
    image_cache: Annotated[ImageCacheParams, NotWith("train_vision", True, part="disk_gib")] = ImageCacheParams()

    @model_validator(mode="after")
    def _adapters_leave_vision(self) -> ModelParams:
        if self.lora is not None and self.train_vision:
            raise ValueError(
                "model.lora puts no adapters into the vision tower, and model.train_vision = true asks to train it: "
                "set model.train_vision to false, or model.lora to null"
            )
        return self


MAX_SERVED_RANK = 512
"""The largest rank of adapters that vLLM serves."""
ENGINE_KEYS = {
    "model": "model.base",
    "dtype": "model.dtype",
    "max_model_len": "agent.max_context_tokens",
    "limit_mm_per_prompt": "",
    "logprobs_mode": "",
    "generation_config": "",
    "worker_extension_cls": "",
    "tensor_parallel_size": "inference.vllm.gpus_per_server",
    "enable_sleep_mode": "inference.vllm.sleeps",
    "weight_transfer_config": "inference.vllm.transfer",
    "enable_lora": "model.lora",
    "max_lora_rank": "model.lora",
    "max_loras": "model.lora",
}
"""Arguments of vLLM's engine that a recipe sets elsewhere (empty: nowhere), by their key there."""
ENGINE_WITHOUT_EFFECT = frozenset(
    "gpu_memory_utilization max_num_seqs max_num_batched_tokens enforce_eager compilation_config enable_prefix_caching "
    "enable_chunked_prefill swap_space cpu_offload_gb block_size disable_log_stats max_cpu_loras "
    "async_scheduling".split()
)
"""Arguments of vLLM's engine that change speed and memory, and results by no more than rounding."""


class VLLMParams(Section):
    """The vLLM servers of a run. They have their own Python environment."""

    urls: Annotated[list[str], NoEffect] = Field(default_factory=list)
    """Servers that `waymark serve` started, such as `http://gpu-3:8000`. With them, stages start no servers."""
    key_variable: Annotated[str, NoEffect, NotWith("urls", [])] = "WAYMARK_VLLM_KEY"
    """The environment variable with the key of the servers in `urls`."""
    python: Annotated[str, NoEffect] = ".venv-vllm/bin/python"
    """The Python of that environment."""
    servers: Annotated[Workers, NoEffect, OnlyWith("urls", [])] = Field(default=1, gt=0)
    """Servers that a stage starts; without `urls`."""
    gpus_per_server: Annotated[Workers, NoEffect] = Field(default=1, gt=0)
    """Tensor-parallel size. It has no effect on a CPU."""
    first_gpu: Annotated[int, NoEffect, OnlyWith("urls", [])] = Field(default=0, ge=0)
    """Index of the servers' first GPU; without `urls`. The trainer uses the GPUs before it."""
    max_in_flight: Annotated[int, NoEffect] = Field(default=256, gt=0)
    """Concurrent requests per server. Further requests wait in the client."""
    start_timeout_s: Annotated[float, NoEffect] = Field(default=900, gt=0)
    """Seconds that a server may take to start, or to come back after it was lost; then the stage fails."""
    transfer: Annotated[Literal["disk", "ipc"], NoEffect] = "disk"
    """How a server gets the weights of each iteration of RL. `disk`: as files. `ipc`: it reads them from the memory of
    the trainer's GPU, on which it is itself (CUDA IPC). Adapters are small, and always files."""
    sleeps: Annotated[bool, NoEffect] = False
    """Whether the servers of RL give up their GPU memory during an update, for a trainer on the same GPU (vLLM's sleep
    mode). Without it, the memory of both must fit at once."""
    engine: Annotated[dict[str, str | int | float | bool | None], NoEffectOf(ENGINE_WITHOUT_EFFECT)] = Field(
        default_factory=dict
    )
    """Additional engine arguments of vLLM, such as `gpu_memory_utilization`. Those of speed and memory change no
    result."""

    @field_validator("engine", mode="before")
    @classmethod
    def _plain_values(cls, engine: object) -> object:
        for name, value in engine.items() if isinstance(engine, dict) else ():
            if not isinstance(value, str | int | float | bool | None):
                raise ValueError(f"{name} = {value!r} must be a text, a number, true, false or null")
        return engine

    @field_validator("engine")
    @classmethod
    def _additional(cls, engine: dict[str, Any]) -> dict[str, Any]:
        for name in engine.keys() & ENGINE_KEYS.keys():
            key = ENGINE_KEYS[name]
            raise ValueError(f"{name} is set by Waymark: " + (f"set {key} instead" if key else "leave it out"))
        share = engine.get("gpu_memory_utilization", 0.9)
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
            raise ValueError(f"gpu_memory_utilization = {share!r} is a share of each GPU's memory: between 0 and 1")
        return engine

    @field_validator("urls")
    @classmethod
    def _addresses(cls, urls: list[str]) -> list[str]:
        plain = [url.rstrip("/") for url in urls]
        for url in plain:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
                raise ValueError(
                    f"{redacted(url)!r} is no address of a server: write http://HOST:PORT without a password"
                )
            if parts.path or parts.query or parts.fragment:
                raise ValueError(f"{url!r} has a path: write the server's address alone, http://{parts.netloc}")
        if len({*plain}) < len(plain):
            raise ValueError("a server is named twice: name each once")
        return plain

    @property
    def count(self) -> int:
        """Number of servers."""
        return len(self.urls) or self.servers

    @property
    def gpus(self) -> range:
        """Indices of the GPUs of the servers that a stage starts."""
        return range(self.first_gpu, self.first_gpu + self.servers * self.gpus_per_server)


class InferenceParams(Section):
    """The engine that samples from the policy."""

    engine: Literal["transformers", "vllm"] = "transformers"
    """`transformers`: the model in the process of the stage. `vllm`: servers that the stage starts, or those in
    `vllm.urls`."""
    vllm: Annotated[VLLMParams, OnlyWith("engine", "vllm")] = VLLMParams()


class TrainingParams(Section):
    """Processes of SFT, judge training and RL. They change results by rounding only, so no stage depends on them."""

    processes: Workers = Field(default=1, gt=0)
    """Processes that train together, one per GPU. `accelerate launch` starts them if there is more than one."""
    shard: bool = False
    """Divide weights, gradients and optimiser state among the processes (FSDP) instead of a copy in each."""


class EvaluationParams(Section):
    """Benchmark evaluation."""

    sampling: SamplingParams = SamplingParams(temperature=0.0)
    max_steps: Steps = Field(gt=0)
    """Step limit of an episode; a task may have a lower one."""
    max_response_tokens: int | None = Field(default=None, gt=0)
    """None uses `agent.max_response_tokens`."""
    inference_timeout_s: float | None = Field(default=None, gt=0)
    """Limit of one response in seconds. Null is 120 (OpenWebRL, table 8), or `agent.inference_timeout_s` if that is
    longer, because the machine is slow."""
    max_aborted: float = Field(default=0.1, ge=0, le=1)
    """Maximum share of episodes that the environment ended or that have no verdict. Above it, the evaluation is
    invalid. Of the held-out tasks, only episodes that the environment ended count; if too many lack a verdict, the
    held-out tasks are reported as not measured. The evaluation is also invalid if the environment ended more than half
    of a family of five or more."""
    bootstrap: int = Field(default=10_000, gt=0)
    """Resamples of each bootstrap interval."""
    promotion_min_tasks: int = Field(default=10, gt=0)
    """Least number of tasks, judged for both models, on which a champion may be replaced."""


class TrackingParams(Section):
    """Tracking with MLflow."""

    experiment: str = "waymark"
    """Name of the MLflow experiment."""
    tracking_uri: str = "sqlite:///mlflow/store/mlflow.db"
    """MLflow's tracking store: a database, or the address of a server."""
    trace_samples: int = Field(default=4, ge=0)
    """Trajectories per rollout stage that are logged as traces with their turns. An evaluation also logs a row for each
    of its other episodes; 0 logs neither."""
