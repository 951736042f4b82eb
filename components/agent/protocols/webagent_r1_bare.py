"""The protocol of `webagent_r1` without thinking: a response is the bare call (WebAgent-R1, section 3.5)."""

from components.agent.protocols.webagent_r1 import variant

KIND = variant("webagent_r1_bare", thinking=False)
