"""vLLM as the policy: `Fleet` runs the servers, `VLLMPolicy` sends requests to them.

A server is one that the stage starts (`local`), or one by URL (`remote`), which is compared with what the stage needs
(`checks`) and gets its weights (`shared_weights`).
The files in `engine` run in vLLM's own Python environment.
"""

from components.policies.vllm.arguments import ServerSettings
from components.policies.vllm.fleet import Fleet, ServerError
from components.policies.vllm.policy import ServerMismatchError, VLLMPolicy

__all__ = ["Fleet", "ServerError", "ServerMismatchError", "ServerSettings", "VLLMPolicy"]
