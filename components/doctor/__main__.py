"""`python -m components.doctor [RECIPE]`: installs what `make demo` needs, if it is not there."""

from __future__ import annotations

import sys

from components.doctor.installation import install_chromium, install_world_programs
from components.params import find
from components.worlds import WorldError


def main(arguments: list[str] | None = None) -> int:
    """Install Chromium and what the recipe's worlds need, if they are not there: `make demo` does it before it starts.

    The argument is a recipe, by file or name; without one, params.yaml.
    """
    from components.browser import ChromiumNotFoundError

    named = (sys.argv[1:] if arguments is None else arguments) or ["params.yaml"]
    recipe = find(named[0])
    try:
        install_chromium()
        install_world_programs(recipe)
    except (ChromiumNotFoundError, WorldError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
