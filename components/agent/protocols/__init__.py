"""The protocols between agent and harness, one file each: system prompt, context rule, response format
(`base.Protocol`)."""

from components.agent.protocols.base import Message, Protocol, TurnContext
from components.agent.protocols.registry import protocol, protocol_names, recorded_protocol

__all__ = ["Message", "Protocol", "TurnContext", "protocol", "protocol_names", "recorded_protocol"]
