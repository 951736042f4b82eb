"""vLLM as the policy: `Fleet` runs the servers, `VLLMPolicy` asks them. What is in `engine` runs in vLLM's own
environment."""

from components.policies.vllm.fleet import Fleet, ServerError
from components.policies.vllm.policy import ServerMismatch, VLLMPolicy

__all__ = ["Fleet", "ServerError", "ServerMismatch", "VLLMPolicy"]
