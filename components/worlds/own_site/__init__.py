"""A user's own site as a world: the machinery of which a user's package is a `site.yaml` and two lines.

    from components.worlds.own_site import own_site

    KIND = own_site(__file__)

The modules: `site_file`, `task_file` and `steps` are the keys of `site.yaml`, and `validation_errors` says what is
wrong; `image` makes the first data once; `application` is a process with a copy of them (`supervisor` ends it,
`http_client` logs people in); `front` leads each browser to its process; `tables` compares states (`schema` looks for
the tables and columns that rules name); `instances` makes tasks of templates (`values` reads their SQL, `texts` fills
in their parameters); `site` is what a browser pool serves; `checking` checks the tasks, and `doubts` says what it
cannot decide; `recording` writes down oracles; `scaffold` writes a new package, and `webarena_infinity` one for an
application of that benchmark.
"""

from components.worlds.own_site.own_world import OwnSite, own_site
from components.worlds.own_site.site_file import OwnSiteError, SiteFile, read_site

__all__ = ["OwnSite", "OwnSiteError", "SiteFile", "own_site", "read_site"]
