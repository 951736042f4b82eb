"""The policies, which answer prompts (`agent.policy.Policy`).

- `transformers_policy`: the model in this process, with `generation`, `drafts` and `token_sampling`.
- `vllm`: vLLM servers. `serving` chooses between the two for a recipe.
- `endpoint`: an OpenAI-compatible endpoint, with `chat`.
- `scripted`: a teacher that solves tasks by rules.

A name is imported when it is first used (`_MODULES`), so that `generation` alone needs no client of servers.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from components.policies.endpoint import EndpointError, EndpointPolicy
    from components.policies.serving import OpenPolicy, open_model, training_policies
    from components.policies.transformers_policy import TransformersPolicy

__all__ = ["EndpointError", "EndpointPolicy", "OpenPolicy", "TransformersPolicy", "open_model", "training_policies"]

_MODULES = {
    "EndpointError": "endpoint",
    "EndpointPolicy": "endpoint",
    "OpenPolicy": "serving",
    "TransformersPolicy": "transformers_policy",
    "open_model": "serving",
    "training_policies": "serving",
}
"""Names that this package exports, with the modules that define them."""


def __getattr__(name: str) -> Any:
    """PEP 562: import a name of `_MODULES` at its first use."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
