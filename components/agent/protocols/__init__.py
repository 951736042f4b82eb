"""The protocols between agent and harness, one file each: system prompt, context rule, response format
(`base.Protocol`)."""

from components.agent.protocols.base import Message, Protocol, TurnContext
from components.agent.protocols.browseragent import BROWSERAGENT
from components.agent.protocols.openwebrl import OPENWEBRL
from components.agent.protocols.webagent_r1 import WEBAGENT_R1, WEBAGENT_R1_BARE
from components.agent.protocols.webgym import WEBGYM

PROTOCOLS = {item.name: item for item in (OPENWEBRL, WEBGYM, WEBAGENT_R1, WEBAGENT_R1_BARE, BROWSERAGENT)}


def protocol(name: str) -> Protocol:
    """The protocol of a recipe (`agent.protocol`)."""
    return PROTOCOLS[name]


__all__ = ["PROTOCOLS", "Message", "Protocol", "TurnContext", "protocol"]
