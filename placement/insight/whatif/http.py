"""``GET /insight/drain`` and ``/survival``: where consumers would fit if providers were gone."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import webob

from placement import policies
from placement.core.search.deadline import Deadline
from placement.core.snapshot.rows import NO_ROWS, Mask
from placement.core.snapshot.snapshot import Snapshot
from placement.core.text import canonical
from placement.engine.engine import View
from placement.exception import BadRequest
from placement.http.request import Request, accepts_json, requires_json
from placement.insight import http, queries
from placement.insight.documents import Json
from placement.insight.whatif import document, sql
from placement.insight.whatif.drain import drain
from placement.insight.whatif.model import Keep, Scene
from placement.insight.whatif.server_groups import NO_GROUPS, ServerGroup, ServerGroups
from placement.insight.whatif.survival import Survival
from placement.parse import validation
from placement.schemas.base import TEXT, UUID, Schema, always, closed

MOST_PROVIDERS: Final = 500
_SELECTORS: Final = ("provider", "in_tree", "member_of", "root_trait")
KEEP = queries.described(
    "aggregates, none, or traits:PREFIX, such as traits:CUSTOM_AZ_",
    "^(aggregates|none|traits:[A-Z0-9_]+)$",
)

DRAIN_QUERY = always(
    closed(
        {
            **dict.fromkeys(("provider", "in_tree", "member_of"), UUID),
            "root_trait": TEXT,
            "keep": KEEP,
            "limit_moves": queries.described("a number", "^[0-9]{1,6}$"),
        }
    )
)
SURVIVAL_QUERY = always(
    closed(
        {
            "by": queries.described(
                "root, aggregate or root_trait:PREFIX, such as root_trait:CUSTOM_RACK_",
                "^(root|aggregate|root_trait:[A-Z0-9_]+)$",
            ),
            "failures": queries.described("1 or 2", "^[12]$"),
            "keep": KEEP,
        }
    )
)


def listed(items: Schema) -> Schema:
    """Return the schema of a list that is not empty."""
    return {"type": "array", "items": items, "minItems": 1, "maxItems": 20_000}


GROUPS = listed(
    closed(
        {
            "policy": {"type": "string", "enum": ["affinity", "anti-affinity"]},
            "members": listed(UUID),
            "max_server_per_host": {"type": "integer", "minimum": 1},
        },
        "policy",
        "members",
    )
)
DRAIN_BODY = always(
    closed(
        {
            **dict.fromkeys(("provider", "in_tree", "member_of"), listed(UUID)),
            "root_trait": listed(TEXT),
            "keep": listed(KEEP),
            "limit_moves": {"type": "integer", "minimum": 0},
            "groups": GROUPS,
        }
    )
)
_DRAIN_BODY = validation.body_validators(DRAIN_BODY)
_DRAIN = validation.query_validators(DRAIN_QUERY)
_SURVIVAL = validation.query_validators(SURVIVAL_QUERY)


@accepts_json
def plan_drain(request: Request) -> webob.Response:
    """Return a move of each consumer of the selected providers, or why there is none."""
    request.can(policies.PLAN)
    values = queries.repeated(request, request.query_pairs, _DRAIN, "limit_moves")
    limit = values.get("limit_moves")
    most = int(limit[-1]) if limit else None
    return http.computed(request, lambda view: _drained(request, view, values, most))


@accepts_json
@requires_json
def plan_drain_with_groups(request: Request) -> webob.Response:
    """Return a plan that keeps the rules of server groups."""
    request.can(policies.PLAN)
    body = queries.body(request, _DRAIN_BODY)

    def write(view: View) -> Json:
        groups = groups_of(request, view, body)
        return _drained(request, view, body, body.get("limit_moves"), groups)

    return http.computed_of_body(request, body, write)


def groups_of(request: Request, view: View, body: Mapping[str, Any]) -> ServerGroups:
    """Return the server groups in a body, and where their members are."""
    groups = [
        ServerGroup(
            frozenset(map(canonical, each["members"])),
            each["policy"] == "affinity",
            each.get("max_server_per_host", 1),
        )
        for each in body.get("groups", ())
    ]
    members = {member for group in groups for member in group.members}
    return ServerGroups(groups, sql.roots(request.services.store, view, members))


def _drained(
    request: Request,
    view: View,
    values: Mapping[str, Sequence[str]],
    most: int | None,
    groups: ServerGroups = NO_GROUPS,
) -> Json:
    snapshot, store = view.snapshot, request.services.store
    tops = selected(snapshot, values)
    drained = _mask(snapshot, tops)
    if (count := sql.count(store, view, drained)) > sql.MOST_CONSUMERS:
        raise BadRequest(
            f"The {len(tops)} providers have {count} consumers; a plan has at most "
            f"{sql.MOST_CONSUMERS}. Name fewer providers."
        )
    holders = sql.holders(store, view, drained)
    scene = Scene.of(snapshot, drained, holders, keep_of(values), groups)
    result = drain(scene, Deadline(request.services.search.budget_seconds, time.monotonic))
    return document.of_drain(snapshot, tops, scene, result, most)


@accepts_json
def show_survival(request: Request) -> webob.Response:
    """Return which hosts, aggregates or racks can fail: what is on them fits elsewhere."""
    request.can(policies.PLAN)
    pairs = request.query_pairs
    values = queries.repeated(request, pairs, _SURVIVAL, "by", "failures")
    services = request.services
    (by_what,), (failures_text,) = values.get("by", ("root",)), values.get("failures", ("1",))
    by, _, prefix = by_what.partition(":")
    failures = int(failures_text)
    if failures > 1 and by != "root":
        raise BadRequest(
            f"{validation.PREFIX}failures is {failures} and by is {by}. Two failures are computed "
            "for by=root only."
        )

    def write(view: View) -> Json:
        groups, keep = sql.groups(services.store, view), keep_of(values)
        deadline = Deadline(services.search.budget_seconds, time.monotonic)
        survival = Survival(view.snapshot, groups, keep, deadline)
        domains = list(survival.domains(by, prefix))
        if not domains:
            raise BadRequest(
                f"{validation.PREFIX}no host matches by={values.get('by', ('root',))[-1]}."
            )
        if failures > 1:
            count = len(domains) * (len(domains) - 1) // 2
            results = survival.until_deadline(survival.pairs(domains))
        else:
            count, results = len(domains), survival.until_deadline(domains)
        return document.of_survival(count, results, survival.skipped)

    return http.computed(request, write)


def keep_of(values: Mapping[str, Sequence[str]]) -> Keep:
    """Return what a target must have of the root that a consumer leaves."""
    kept = values.get("keep", ())
    return Keep(
        aggregates="none" not in kept,
        trait_prefixes=tuple(each[7:] for each in kept if each.startswith("traits:")),
        ignored=frozenset(map(canonical, values.get("member_of", ()))),
    )


def selected(snapshot: Snapshot, values: Mapping[str, Sequence[str]]) -> Sequence[int]:
    """Return the rows of the drained providers, without the providers below them.

    Raises: BadRequest.
    """
    if not any(name in values for name in _SELECTORS):
        raise BadRequest(
            f"{validation.PREFIX}no provider is selected. Give one of {', '.join(_SELECTORS)}."
        )
    tops = list(dict.fromkeys(_selected(snapshot, values)))
    if len(tops) > MOST_PROVIDERS:
        raise BadRequest(
            f"The query selects {len(tops)} providers; a plan drains at most {MOST_PROVIDERS}. "
            "Select fewer."
        )
    return tops


def _selected(snapshot: Snapshot, values: Mapping[str, Sequence[str]]) -> Iterator[int]:
    forest, sharing = snapshot.forest, snapshot.sharing.mask(snapshot.size)
    named = [canonical(text) for text in (*values.get("provider", ()), *values.get("in_tree", ()))]
    unknown = [uuid for uuid in named if uuid not in forest.row_of]
    if unknown:
        raise BadRequest(f"There are no providers {', '.join(unknown)}.")
    yield from (forest.row_of[canonical(text)] for text in values.get("provider", ()))
    for text in values.get("in_tree", ()):
        yield forest.root.item(forest.row_of[canonical(text)])
    for text in values.get("member_of", ()):
        members = snapshot.aggregates.get(canonical(text), NO_ROWS).numbers
        yield from _some(members[~sharing[members]].tolist(), f"in aggregate {text}")
    for text in values.get("root_trait", ()):
        having = snapshot.traits.get(text, NO_ROWS).numbers
        yield from _some(having[snapshot.hosts[having]].tolist(), f"with root trait {text}")


def _some(rows: Sequence[int], condition: str) -> Sequence[int]:
    if not rows:
        raise BadRequest(f"There is no provider {condition}; sharing providers do not count.")
    return rows


def _mask(snapshot: Snapshot, tops: Sequence[int]) -> Mask:
    """Return the drained rows: the providers and all providers below them."""
    mask = np.zeros(snapshot.size, dtype=np.bool_)
    for top in tops:
        mask[snapshot.forest.members(top)] = True
    return mask
