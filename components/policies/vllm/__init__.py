"""vLLM as the policy: `Fleet` runs the servers, `VLLMPolicy` sends requests to them.

The files in `engine` run in vLLM's own Python environment.
"""

from components.policies.vllm.fleet import Fleet, ServerError
from components.policies.vllm.policy import ServerMismatchError, VLLMPolicy

__all__ = ["Fleet", "ServerError", "ServerMismatchError", "VLLMPolicy"]
