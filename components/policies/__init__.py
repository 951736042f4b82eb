"""The policies, which answer prompts (`agent.policy.Policy`).

- `transformers_policy`: the model in this process, with `generation`, `drafts` and `token_sampling`.
- `vllm`: vLLM servers. `serving` chooses between the two for a recipe.
- `endpoint`: an OpenAI-compatible endpoint, with `chat`.
- `scripted`: a teacher that solves tasks by rules.
"""

from components.policies.endpoint import EndpointError, EndpointPolicy
from components.policies.serving import OpenPolicy, open_model, training_policies
from components.policies.transformers_policy import TransformersPolicy

__all__ = ["EndpointError", "EndpointPolicy", "OpenPolicy", "TransformersPolicy", "open_model", "training_policies"]
