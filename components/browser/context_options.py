"""The options with which a pool opens its browser contexts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from components.params import ContextParams


def context_options(params: ContextParams, viewport: tuple[int, int]) -> dict[str, Any]:
    """Arguments of Playwright's `new_context`.

    Raises:
        ValueError: the password's environment variable is not set, or the file of the storage state is missing.
    """
    options: dict[str, Any] = {
        "viewport": {"width": viewport[0], "height": viewport[1]},
        "device_scale_factor": 1,
        "locale": params.locale,
        "color_scheme": params.color_scheme,
        "ignore_https_errors": params.ignore_https_errors,
        "service_workers": "block",
        "accept_downloads": False,
    }
    if params.timezone is not None:
        options["timezone_id"] = params.timezone
    if params.user_agent is not None:
        options["user_agent"] = params.user_agent
    if params.geolocation is not None:
        options["geolocation"] = params.geolocation.model_dump()
        options["permissions"] = ["geolocation"]
    if (credentials := params.http_credentials) is not None:
        password = os.environ.get(credentials.password_env)
        if password is None:
            raise ValueError(
                f"browser.context.http_credentials: set the environment variable {credentials.password_env}"
            )
        options["http_credentials"] = {"username": credentials.username, "password": password}
        if credentials.origin is not None:
            options["http_credentials"]["origin"] = credentials.origin
    if params.storage_state is not None:
        if not Path(params.storage_state).is_file():
            raise ValueError(f"browser.context.storage_state: {params.storage_state} is not a file: correct the path")
        options["storage_state"] = params.storage_state
    return options
