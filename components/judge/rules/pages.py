"""Page checks of rules at the end of an episode (`program_html`), as probes for the episode's browser.

A locator of the published files is JavaScript and is evaluated only in its page. This is the benchmark's own interface,
and a task file gets no more rights than the author of a page. The published harness also calls Python functions; here
JavaScript expressions of this project do the same in the page, so that all traffic passes the browser's egress guard
and uses its login. The differences:

- The agent's last page is read in its tab. Other pages are opened in a separate tab; the published code navigates the
  agent's tab.
- The newest order and the newest review of a product come, as published, from the shop's REST interface, which needs
  the administrator's account. `SHOP_ADMIN` is the account of WebArena's public image. A shop that does not answer is an
  outage; in the published code an assertion ends the evaluation.
- A role is read in the row of the account. The published code looks it up by the index of the account among
  all accounts, so a missing account has the role of the last one or none.
"""

from __future__ import annotations

import json

from components.judge.rules.addresses import origin_of, reddit_post
from components.judge.rules.calls import AddressCall, TextCall
from components.judge.rules.specs import PageHas, WebArenaRule, rule_of
from components.records import Probe, Task

SHOP_ADMIN = {"username": "admin", "password": "admin1234"}
"""The account of WebArena's public shop image (its `browser_env/env_config.py`)."""

_ROLE = """(() => {
  const named = [...document.querySelectorAll("td[data-label='Account'] span.gl-avatar-labeled-sublabel")]
    .find(el => el.outerText.trim() === '@' + ACCOUNT);
  return named.closest('tr').querySelector('td.col-max-role span').outerText;
})()"""
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
_NEWEST_REVIEW = """
  const reviews = await get(`V1/products/${encodeURIComponent(SKU)}/reviews`);
  const newest = reviews[reviews.length - 1];
  return newest ? VALUE : '';
"""
_REVIEW = {
    "shopping_get_sku_latest_review_author": "newest.nickname",
    "shopping_get_sku_latest_review_rating": "newest.ratings.find(rating => rating.rating_name === 'Rating').percent",
}


def probes_of(task: Task, final_url: str) -> list[Probe]:
    """The probes for the end of the episode, one per page check of the task's rule, in order.

    Args:
        final_url: the last address of the active tab.

    Raises:
        RuleError: the task's evaluator has an unknown form; `rule_of` says so before any episode.
    """
    rule = rule_of(task.evaluator)
    if not isinstance(rule, WebArenaRule):
        return []
    return [probe_of(page, task.start_url, final_url) for page in rule.pages]


def probe_of(page: PageHas, start_url: str, final_url: str) -> Probe:
    """The probe of one page check. `start_url` is that of the task, which has the shop's origin."""
    probe = Probe(url=page.url, locator=page.locator, prepare=page.prepare)
    changes: dict[str, object] = {}
    match page.page:
        case AddressCall(function="reddit_get_post_url"):
            changes["address"] = reddit_post(final_url)
        case AddressCall():
            changes |= {"address": origin_of(start_url), "resolve": _shop(_NEWEST_ORDER)}
        case str(address):
            changes["address"] = address
    match page.text_source:
        case TextCall(function="gitlab_get_project_memeber_role", argument=account):
            changes["script"] = _ROLE.replace("ACCOUNT", json.dumps(account))
        case TextCall(function=function, argument=sku):
            review = _NEWEST_REVIEW.replace("VALUE", _REVIEW[function]).replace("SKU", json.dumps(sku))
            changes |= {"address": origin_of(start_url), "script": _shop(review), "must_answer": True}
        case str(script):
            changes["script"] = script
    return probe.model_copy(update=changes)


def _shop(find: str) -> str:
    return _SHOP.replace("ACCOUNT", json.dumps(SHOP_ADMIN)).replace("FIND", find)
