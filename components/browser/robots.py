"""Reads robots.txt files (RFC 9309) through the egress guard: which pages do sites disallow for automated visitors?

A site that answers with 4xx has no rules and allows all pages; one that answers with 5xx disallows all. A site that
does not answer gives no result here: the episodes on it report that it is unreachable. Each site is asked once per
call, for at most `MAX_BYTES`.

Accepted trade-offs: the standard library's parser takes the first rule that matches, where the RFC takes the longest,
and knows no `*` inside a path. Of several groups for one name it takes the first, and a group for a part of our name
counts as ours. Only the given addresses are checked, which for a benchmark are its start pages; pages
to which an agent goes from there are not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from urllib.parse import urlsplit
from urllib.robotparser import RobotFileParser

import httpx

from components.browser.egress import EgressGuard
from components.params import EgressParams

AGENT = "waymark"
"""Our name in a robots.txt; without a section for it, the rules for `*` apply."""
MAX_BYTES = 512 * 1024
TIMEOUT_S = 15.0
MAX_PARALLEL = 8


async def disallowed(urls: Iterable[str], egress: EgressParams) -> dict[str, str]:
    """The addresses that their sites disallow, each with a sentence that names the robots.txt.

    Raises:
        SandboxError: the egress guard did not start.
    """
    by_site: dict[str, list[str]] = {}
    for url in dict.fromkeys(urls):
        parts = urlsplit(url)
        by_site.setdefault(f"{parts.scheme}://{parts.netloc}/robots.txt", []).append(url)
    if not by_site:
        return {}
    guard = EgressGuard(egress) if egress.guard else None
    semaphore = asyncio.Semaphore(MAX_PARALLEL)
    try:
        if guard is not None:
            await guard.start()
        proxy = f"http://127.0.0.1:{guard.port}" if guard is not None else None
        refusal = guard.refusal_header if guard is not None else None
        async with httpx.AsyncClient(
            proxy=proxy, trust_env=False, timeout=TIMEOUT_S, follow_redirects=True, headers={"User-Agent": AGENT}
        ) as client:

            async def rules_of(robots: str) -> RobotFileParser | None:
                async with semaphore:
                    return await _fetch_rules(client, robots, refusal)

            rules_by_site = await asyncio.gather(*map(rules_of, by_site))
    finally:
        if guard is not None:
            await guard.stop()
    return {
        url: f"{robots} disallows it"
        for (robots, site_urls), rules in zip(by_site.items(), rules_by_site, strict=True)
        for url in site_urls
        if rules is not None and not rules.can_fetch(AGENT, url)
    }


async def _fetch_rules(client: httpx.AsyncClient, robots: str, refusal: str | None) -> RobotFileParser | None:
    """The rules of a robots.txt; None if the site did not answer."""
    rules = RobotFileParser(robots)
    try:
        async with client.stream("GET", robots) as response:
            if refusal is not None and refusal in response.headers:
                return None  # the guard's own answer, not the site's
            body = b""
            async for part in response.aiter_bytes():
                body += part
                if len(body) > MAX_BYTES:
                    break
            status = response.status_code
    except (httpx.HTTPError, httpx.InvalidURL):
        return None
    if status >= 500:
        rules.parse(["User-agent: *", "Disallow: /"])
    else:  # without a file everything is allowed
        lines = body[:MAX_BYTES].decode("utf-8-sig", "replace").splitlines() if status < 400 else []
        rules.parse([line for line in lines if _is_readable(line)])
    return rules


def _is_readable(line: str) -> bool:
    """Whether a line is a rule for the parser. A blank line would end a group, and a path such as `//[` raises."""
    try:
        RobotFileParser().parse(["User-agent: *", line])
    except ValueError:
        return False
    return bool(line.strip())
