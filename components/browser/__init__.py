"""The environment: tools, feedback, observation, sessions, the pool of browsers (OpenWebRL, 4.1 and appendix A)."""

from components.browser.chromium import find_chromium
from components.browser.elements import Listed, element_list, parse_elements
from components.browser.environment import Environment, Environments, StepResult
from components.browser.errors import BlockedError, ChromiumNotFoundError, EnvError, EnvInitError, SandboxError
from components.browser.pool import BrowserPool
from components.browser.session import Session
from components.browser.site import Site
from components.browser.tools import ALL_TOOLS, TOOLS, check_call

__all__ = [
    "ALL_TOOLS",
    "TOOLS",
    "BlockedError",
    "BrowserPool",
    "ChromiumNotFoundError",
    "EnvError",
    "EnvInitError",
    "Environment",
    "Environments",
    "Listed",
    "SandboxError",
    "Session",
    "Site",
    "StepResult",
    "check_call",
    "element_list",
    "find_chromium",
    "parse_elements",
]
