"""A search engine for Haystack on the copy's own database, so that search finds what an episode has changed.

Haystack's own `simple` engine ignores filters, which leaves the shop's catalogue empty. This one turns a query into a
query of Django's ORM. Which fields are searched for text, and which database fields the filters and orders of an
application mean, is said by the site (`Searchable`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import and_, or_
from typing import Any

from django.apps import apps
from django.db.models import BooleanField, Min, Q, QuerySet
from haystack.backends import BaseEngine, BaseSearchBackend, BaseSearchQuery, SearchNode
from haystack.constants import DEFAULT_ALIAS
from haystack.models import SearchResult

from city import sites
from city.middleware import REQUEST_URLS


@dataclass(frozen=True)
class Searchable:
    """How a model is searched."""

    text: tuple[str, ...]
    """Fields in which words are looked for."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """The ORM's field of each field that filters and orders name."""
    default_order: str = "pk"


class DatabaseSearchQuery(BaseSearchQuery):
    """Hands its tree of filters to the backend as it is."""

    def build_query(self) -> SearchNode:
        return self.query_filter

    def __str__(self) -> str:
        return repr(self.query_filter)


class DatabaseSearchBackend(BaseSearchBackend):
    """Searches rows, not an index: nothing has to be updated."""

    def update(self, index: Any, iterable: Any, commit: bool = True) -> None: ...
    def remove(self, obj_or_string: Any, commit: bool = True) -> None: ...
    def clear(self, models: Any = None, commit: bool = True) -> None: ...

    def search(self, query_string: SearchNode, **options: Any) -> dict[str, Any]:
        from haystack import connections

        index = connections[self.connection_alias or DEFAULT_ALIAS].get_unified_index()
        models = options.get("models") or [m for m in index.get_indexed_models() if label(m) in searchables()]
        result_class = options.get("result_class") or SearchResult
        rows: list[Any] = []
        for model in models:
            rows += self._rows(model, query_string, options.get("sort_by") or ())
        first, last = options.get("start_offset", 0), options.get("end_offset")
        results = []
        for row in rows[first:last]:
            stored = index.get_index(type(row)).full_prepare(row)  # what an application shows of a result
            stored = {name: value for name, value in stored.items() if name not in ("id", "django_ct", "django_id")}
            result = result_class(row._meta.app_label, row._meta.model_name, row.pk, 0, **stored)
            result._model, result._object = type(row), row
            results.append(result)
        return {"results": results, "hits": len(rows), "facets": {"fields": {}, "dates": {}, "queries": {}}}

    def _rows(self, model: type, node: SearchNode, orders: Any) -> list[Any]:
        searchable = searchables()[label(model)]
        rows: QuerySet[Any] = model._default_manager.filter(_condition(model, searchable, node))  # type: ignore[attr-defined]
        names = []
        for number, order in enumerate(orders):
            sign, name = ("-", order[1:]) if order.startswith("-") else ("", order)
            path = searchable.fields.get(name)
            if path is not None:
                rows = rows.annotate(
                    **{f"order_{number}": Min(path)}
                )  # one row each, though a product has several prices
                names.append(f"{sign}order_{number}")
        return list(rows.order_by(*names, searchable.default_order).distinct())


class DatabaseSearchEngine(BaseEngine):
    """The engine for HAYSTACK_CONNECTIONS."""

    backend = DatabaseSearchBackend
    query = DatabaseSearchQuery


def label(model: type) -> str:
    """`app.model` in lower case."""
    return model._meta.label_lower  # type: ignore[attr-defined]


def searchables() -> dict[str, Searchable]:
    """How each searched model of the request's site is searched, by label."""
    return {
        name: Searchable(**options)
        for site in sites.found()
        if f"{site.__name__}.urls" == REQUEST_URLS.get()
        for name, options in site.SEARCH.items()
    }


def _condition(model: type, searchable: Searchable, node: SearchNode) -> Q:
    parts = []
    for child in node.children:
        if isinstance(child, SearchNode):
            parts.append(_condition(model, searchable, child))
        else:
            expression, value = child
            field, kind = node.split_expression(expression)
            parts.append(_filter(model, searchable, field, kind, value))
    condition = reduce(and_ if node.connector == node.AND else or_, parts, Q()) if parts else Q()
    return ~condition if node.negated else condition


def _filter(model: type, searchable: Searchable, name: str, kind: str, value: Any) -> Q:
    text = getattr(value, "query_string", value)
    if name in ("content", "text"):
        words = str(text).split()
        return reduce(
            and_, (reduce(or_, (Q(**{f"{path}__icontains": word}) for path in searchable.text)) for word in words), Q()
        )
    path = searchable.fields.get(name)
    if path is None:
        return Q()
    if kind == "in":
        return Q(**{f"{path}__in": list(text)})
    if "__" not in path and isinstance(apps.get_model(label(model))._meta.get_field(path), BooleanField):
        text = str(text).lower() == "true"
    return Q(**{path if kind in ("content", "exact") else f"{path}__{kind}": text})
