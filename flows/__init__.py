"""Prefect flows: when, where, how often and with what retries stages run. DVC knows the dependencies between stages."""
