"""Page checks of rules at the end of an episode (`program_html`, `page_image_query`), as probes for its browser.

A locator of the published files is JavaScript and is evaluated only in its page. This is the benchmark's own interface,
and a task file gets no more rights than the author of a page. The published harness also calls Python functions; here
JavaScript expressions of this project do the same in the page (`page_texts`). The differences:

- The agent's last page is read in its tab. Other pages are opened in a separate tab; the published code navigates the
  agent's tab.
- The newest order and the newest review of a product come, as published, from the shop's REST interface, which needs
  the administrator's account. `SHOP_ADMIN` is the account of WebArena's public image. A shop that does not answer is an
  outage; in the published code an assertion ends the evaluation.
- Images are read from their addresses, in the same separate tab, and kept smaller (`browser/image_reading.py`).
"""

from __future__ import annotations

import json

from components.judge.rules.addresses import origin_of, reddit_post
from components.judge.rules.calls import AddressCall, TextCall
from components.judge.rules.conditions import ImagesShow, PageHas, WebArenaRule
from components.judge.rules.page_texts import page_text, shop_text
from components.judge.rules.specs import rule_of
from components.judge.verified.rule import VerifiedRule, har_probe
from components.records import Probe, Task, start_tabs

SHOP_ADMIN = {"username": "admin", "password": "admin1234"}
"""The account of WebArena's public shop image (its `browser_env/env_config.py`)."""

_SHOP = """(async () => {
  const ask = async (path, options) => {
    const answer = await fetch('/rest/' + path, options);
    if (!answer.ok) throw new Error(`the shop answered ${path.split('?')[0]} with status ${answer.status}`);
    return answer.json();
  };
  const token = await ask('default/V1/integration/admin/token', {
    method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(ACCOUNT),
  });
  const get = path => ask(path, {headers: {Authorization: `Bearer ${token}`}});
  FIND
})()"""
_NEWEST_ORDER = """
  const sorted = 'searchCriteria[sortOrders][0][field]=created_at&searchCriteria[sortOrders][0][direction]=DESC';
  const {items} = await get(`V1/orders?${sorted}&searchCriteria[pageSize]=1`);
  return items.length ? `${location.origin}/sales/order/view/order_id/${Number(items[0].increment_id)}/` : '';
"""


def probes_of(task: Task, final_url: str) -> list[Probe]:
    """The probes for the end of the episode: one per page check of the task's rule, in order, then one per image check.
    A row of webarena-verified with checks of network events has one for the HAR.

    Args:
        final_url: the last address of the active tab.

    Raises:
        RuleError: the task's evaluator has an unknown form; `rule_of` says so before any episode.
    """
    rule = rule_of(task.evaluator)
    if isinstance(rule, VerifiedRule):
        return [har_probe()] if rule.needs_har else []
    if not isinstance(rule, WebArenaRule):
        return []
    texts = [probe_of(page, task.start_url, final_url) for page in rule.pages]
    return texts + [image_probe_of(images, task.start_url, final_url) for images in rule.images]


def probe_of(page: PageHas, start_url: str, final_url: str) -> Probe:
    """The probe of one page check. `start_url` is that of the task; its first tab has the shop's origin."""
    probe = Probe(url=page.url, locator=page.locator, prepare=page.prepare)
    changes = _place(page.page, start_url, final_url)
    match page.text_source:
        case TextCall() as call if (script := page_text(call)) is not None:
            changes["script"] = script
        case TextCall() as call:
            changes |= {"address": _shop_origin(start_url), "script": _shop(shop_text(call)), "must_answer": True}
        case str(script):
            changes["script"] = script
    return probe.model_copy(update=changes)


def image_probe_of(images: ImagesShow, start_url: str, final_url: str) -> Probe:
    """The probe of one image check."""
    probe = Probe(url=images.url, locator=images.selector, reads_images=True, copies=images.copies)
    return probe.model_copy(update=_place(images.page, start_url, final_url))


def _place(page: AddressCall | str | None, start_url: str, final_url: str) -> dict[str, object]:
    """The fields of a probe that say which page to read."""
    match page:
        case AddressCall(function="reddit_get_post_url"):
            return {"address": reddit_post(final_url)}
        case AddressCall():
            return {"address": _shop_origin(start_url), "resolve": _shop(_NEWEST_ORDER)}
        case str(address):
            return {"address": address}
    return {}


def _shop_origin(start_url: str) -> str:
    return origin_of(start_tabs(start_url)[0])


def _shop(find: str) -> str:
    return _SHOP.replace("ACCOUNT", json.dumps(SHOP_ADMIN)).replace("FIND", find)
