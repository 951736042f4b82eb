"""JavaScript expressions for the calls of task files whose value is a text (`calls.TextFunction`).

The published harnesses (WebArena and VisualWebArena, `evaluation_harness/helper_functions.py`) call Python functions,
which ask the page and the shop's REST interface. Here an expression does the same in the page, so that all traffic
passes the browser's egress guard and uses its login. The differences:

- A role is read in the row of the account. The published code looks it up by the index of the account among all
  accounts, so a missing account has the role of the last one or none.
- A price or a number of reviews that is not there is an empty text, which meets no bound; in the published code it is
  0, which is below every bound. `1,299.00` is 1299; the published code reads it as 1.
- An order's quantity is the number after "Ordered", whatever was shipped of it since.
- The newest comment of a user is the newest on the page. For its parent, the published code passes over replies of
  users to themselves.
"""

from __future__ import annotations

import json

from components.judge.rules.calls import TextCall

_ROLE = """(() => {
  const named = [...document.querySelectorAll("td[data-label='Account'] span.gl-avatar-labeled-sublabel")]
    .find(el => el.outerText.trim() === '@' + $0);
  return named.closest('tr').querySelector('td.col-max-role span').outerText;
})()"""
_QUERY = "document.querySelector($0).textContent"

_COMMENT = """(() => {
  const author = node => node.querySelector('.fg-inherit').outerText.trim();
  const written = node => Date.parse(node.querySelector('.comment__main time').dateTime);
  const newest = [...document.querySelectorAll('#main .comment')]
    .filter(node => author(node) === $0)
    .reduce((best, node) => best && written(best) >= written(node) ? best : node, null);
  return newest ? VALUE : '';
})()"""
_CONTENT = "newest.querySelector('.comment__content').outerText"
_PARENT = "author(newest.parentElement.closest('.comment') || document.querySelector('#main'))"

_ORDER = """(() => {
  const lines = [...document.querySelectorAll('#my-orders-table tbody')];
  const cell = (line, name) => line.querySelector('td.col.' + name);
  const text = (line, name) => (cell(line, name)?.outerText ?? '').trim();
  return VALUE;
})()"""
_NAMES = "lines.map(line => text(line, 'name')).join('\\n')"
_QUANTITY = """(() => {
    const wanted = lines.find(line => $0.split(' |OR| ').includes(text(line, 'sku')));
    return (wanted && /Ordered\\s*(\\d+)/.exec(text(wanted, 'qty'))?.[1]) || '0';
  })()"""
_OPTION = """(() => {
    const wanted = lines.find(line => text(line, 'sku') === $0);
    const name = wanted && [...cell(wanted, 'name').querySelectorAll('dt')].find(el => el.outerText.trim() === $1);
    return name ? name.nextElementSibling.outerText : '';
  })()"""

_ATTRIBUTES = """(() => {
  const wanted = $0.toLowerCase().split(' |or| ');
  return [...document.querySelectorAll('#productDetails_detailBullets_sections1 > tbody > tr')]
    .filter(row => wanted.some(name => row.children[0].outerText.toLowerCase().includes(name)))
    .map(row => row.children[1].outerText).join(', ');
})()"""
_PRICE = """/[\\d.,]*\\d/.exec(document.querySelector(
  '.product-info-main .product-info-price .price-final_price > span > span').outerText)[0].replaceAll(',', '')"""
_REVIEWS = r"/\d+/.exec(document.querySelector('#tab-label-reviews-title').outerText)[0]"
_RATING = "document.querySelector('.rating-result').title.replace('%', '')"

_NEWEST_REVIEW = """
  const reviews = await get(`V1/products/${encodeURIComponent($0)}/reviews`);
  const newest = reviews[reviews.length - 1];
  return newest ? VALUE : '';
"""
_OF_REVIEW = {
    "shopping_get_sku_latest_review_author": "newest.nickname",
    "shopping_get_sku_latest_review_rating": "newest.ratings.find(rating => rating.rating_name === 'Rating').percent",
    "shopping_get_sku_latest_review_text": "newest.detail",
    "shopping_get_sku_latest_review_title": "newest.title",
}
_ON_PAGE = {
    "gitlab_get_project_memeber_role": _ROLE,
    "get_query_text": _QUERY,
    "get_query_text_lowercase": f"{_QUERY}.toLowerCase()",
    "reddit_get_latest_comment_content_by_username": _COMMENT.replace("VALUE", _CONTENT),
    "reddit_get_parent_comment_username_of_latest_comment_by_username": _COMMENT.replace("VALUE", _PARENT),
    "shopping_get_order_product_name_list": _ORDER.replace("VALUE", _NAMES),
    "shopping_get_order_product_quantity": _ORDER.replace("VALUE", _QUANTITY),
    "shopping_get_order_product_option": _ORDER.replace("VALUE", _OPTION),
    "shopping_get_product_attributes": _ATTRIBUTES,
    "shopping_get_product_price": _PRICE,
    "shopping_get_num_reviews": _REVIEWS,
    "shopping_get_rating_as_percentage": _RATING,
}


def page_text(call: TextCall) -> str | None:
    """The expression whose value on the page is the call's; None if the call asks the shop (`shop_text`)."""
    script = _ON_PAGE.get(call.function)
    return None if script is None else _with_arguments(script, call)


def shop_text(call: TextCall) -> str:
    """The statements that ask the shop for the newest review of a product; `get` is a function for its REST paths."""
    return _with_arguments(_NEWEST_REVIEW.replace("VALUE", _OF_REVIEW[call.function]), call)


def _with_arguments(script: str, call: TextCall) -> str:
    first, *rest = script.split("$0")
    texts = [json.dumps(argument) for argument in call.arguments]
    if not rest:
        return first
    return texts[0].join(part.replace("$1", texts[-1]) for part in (first, *rest))
