"""When, where, how often and with what retries: Prefect. What depends on what is DVC's to say; stages know neither."""
