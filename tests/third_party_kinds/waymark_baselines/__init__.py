"""A protocol, an objective of RL and a judge for Waymark. Each is found by an entry point of this distribution."""
