"""``/insight/drain`` and ``/insight/survival``: where consumers would fit without providers."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import webob

from placement.core.snapshot.rows import NO_ROWS
from placement.core.snapshot.snapshot import Snapshot
from placement.core.text import canonical, first
from placement.engine.engine import View
from placement.exception import BadRequest
from placement.http.request import Request, accepts_json, requires_json
from placement.parse import validation
from placement.schemas.base import NAME, UUID, Schema, always, closed
from placement_insight import http, policies, queries
from placement_insight.documents import Json
from placement_insight.hosts import COMPUTE_NODE, hosts_by
from placement_insight.names import similar_names
from placement_insight.plan import document, sql
from placement_insight.plan.cells import cells_of
from placement_insight.plan.drain import drain
from placement_insight.plan.model import WAYS, Keep, Scene, States, with_children
from placement_insight.plan.server_groups import NO_GROUPS, ServerGroup, ServerGroups
from placement_insight.plan.survival import Survival

MOST_PROVIDERS: Final = 500
MOST_KEPT: Final = 100
KEEP = queries.described(
    "aggregates, none, or traits:PREFIX, such as traits:CUSTOM_AZ_",
    "^(aggregates|none|traits:[A-Z0-9_]+)$",
)
_TRAIT = queries.described("the name of a trait, such as CUSTOM_RACK_12", "^[A-Z0-9_]{1,255}$")

_SELECTORS: Final = {
    **dict.fromkeys(("provider", "in_tree", "member_of"), UUID),
    "root_trait": _TRAIT,
}
_BY = queries.described(
    "root, aggregate or root_trait:PREFIX, such as root_trait:CUSTOM_RACK_",
    "^(root|aggregate|root_trait:[A-Z0-9_]+)$",
)
_WORDS: Final = {"root": "host", "aggregate": "aggregate", "root_trait": "group"}
_LIMIT = queries.described("a number from 0 to 999999", "^[0-9]{1,6}$")
DRAIN_QUERY = always(closed({**_SELECTORS, "keep": KEEP, "limit_moves": _LIMIT}))
SURVIVAL_QUERY = always(
    closed({"by": _BY, "failures": queries.described("1 or 2", "^[12]$"), "keep": KEEP})
)


def listed(items: Schema) -> Schema:
    """Return the schema of a list that is not empty."""
    return {"type": "array", "items": items, "minItems": 1, "maxItems": 20_000}


_GROUP: Final = closed(
    {
        "policy": {"type": "string", "enum": ["affinity", "anti-affinity"]},
        "members": listed(UUID),
        "max_server_per_host": {"type": "integer", "minimum": 1},
    },
    "policy",
    "members",
)
GROUPS: Final = {**listed(_GROUP), "minItems": 0}
OF_NOVA: Final = {
    "cells": {"type": "object", "additionalProperties": listed(NAME), "minProperties": 1},
    "unreachable": listed(NAME),
    "down": listed(NAME),
    "migrations": {**listed(UUID), "minItems": 0},
}
"""What only Nova knows: its cells and hosts, and which of its consumers are migrations."""
STATES: Final = dict.fromkeys(WAYS, listed(UUID))
"""The servers that Nova moves in some ways only, or not at all."""
DRAIN_BODY = always(
    closed(
        {
            **{name: listed(schema) for name, schema in _SELECTORS.items()},
            "keep": listed(KEEP),
            **OF_NOVA,
            **STATES,
            "limit_moves": {"type": "integer", "minimum": 0},
            "groups": GROUPS,
        }
    )
)
SURVIVAL_BODY = always(
    closed(
        {
            "by": _BY,
            "failures": {"type": "integer", "minimum": 1, "maximum": 2},
            "keep": listed(KEEP),
            **OF_NOVA,
        }
    )
)
_DRAIN = validation.query_validators(DRAIN_QUERY)
_DRAIN_OF_BODY = validation.body_validators(DRAIN_BODY)
_SURVIVAL = validation.query_validators(SURVIVAL_QUERY)
_SURVIVAL_OF_BODY = validation.body_validators(SURVIVAL_BODY)


@accepts_json
def show_drain(request: Request) -> webob.Response:
    """Return a move of each consumer of the selected providers, or why there is none."""
    request.can(policies.PLAN)
    values = queries.repeated(request, request.query_pairs, _DRAIN, "limit_moves")
    (limit,) = values.get("limit_moves", (None,))
    return http.computed(request, _drain(request, values, None if limit is None else int(limit)))


@accepts_json
@requires_json
def plan_drain(request: Request) -> webob.Response:
    """Return the same as ``show_drain``; a body can have what only Nova knows."""
    request.can(policies.PLAN)
    body = queries.body(request, _DRAIN_OF_BODY)
    return http.computed_of_body(request, body, _drain(request, body, body.get("limit_moves")))


def _drain(request: Request, values: Mapping[str, Any], most: int | None) -> http.Write:
    """Return the function that writes the document, with at most so many moves."""
    services = request.services
    short = services.shared.short_requests

    def write(view: View) -> Json:
        snapshot = view.snapshot
        groups = groups_of(request, view, values)
        tops = selected(snapshot, values)
        drained = with_children(snapshot, tops)
        if (count := sql.count(services.store, view, drained)) > sql.MOST_CONSUMERS:
            raise BadRequest(
                f"The request selects {count} consumers; a plan has at most "
                f"{sql.MOST_CONSUMERS}. Name fewer providers."
            )
        holders = short.paced(sql.holders(services.store, view, drained, short, states_of(values)))
        scene = Scene.of(snapshot, drained, holders, keep_of(snapshot, values), groups)
        return document.of_drain(snapshot, tops, scene, drain(scene, services.deadline()), most)

    return write


def _consumers(values: Mapping[str, Any], name: str) -> frozenset[str]:
    """Return the UUIDs in a list that only Nova knows."""
    return frozenset(map(canonical, values.get(name, ())))


def states_of(body: Mapping[str, Any]) -> States:
    """Return the states of consumers; they can be migrations whatever their types are."""
    ways = {uuid: WAYS[name] for name in WAYS for uuid in _consumers(body, name)}
    return States(_consumers(body, "migrations"), ways)


def groups_of(request: Request, view: View, body: Mapping[str, Any]) -> ServerGroups:
    """Return the server groups in a body, and where their members are.  Raises: BadRequest."""
    if "groups" not in body:
        return NO_GROUPS
    groups = [
        ServerGroup(
            frozenset(map(canonical, each["members"])),
            each["policy"] == "affinity",
            each.get("max_server_per_host", 1),
        )
        for each in body["groups"]
    ]
    together, apart = (
        {member for group in groups if group.has_affinity is affine for member in group.members}
        for affine in (True, False)
    )
    if both := sorted(together & apart):
        raise BadRequest(
            f"Members of groups with affinity are also members of groups with anti-affinity: "
            f"{first(both)}. A server has one policy: remove it from the other groups."
        )
    roots = sql.roots(request.services.store, view, together | apart)
    for group in groups:
        if roots.keys().isdisjoint(group.members):
            raise BadRequest(
                f"No member of a server group has allocations on a host: "
                f"{first(sorted(group.members))}. Correct the UUIDs, or remove the group."
            )
    return ServerGroups(groups, roots)


@accepts_json
def show_survival(request: Request) -> webob.Response:
    """Return which hosts, aggregates or racks can fail: what is on them fits elsewhere."""
    request.can(policies.PLAN)
    pairs = request.query_pairs
    values = queries.repeated(request, pairs, _SURVIVAL, "by", "failures")
    (by,), (failures,) = values.get("by", ("root",)), values.get("failures", ("1",))
    return http.computed(request, _survival(request, by, int(failures), values))


@accepts_json
@requires_json
def plan_survival(request: Request) -> webob.Response:
    """Return the same as ``show_survival``; a body can have the cells of Nova."""
    request.can(policies.PLAN)
    body = queries.body(request, _SURVIVAL_OF_BODY)
    write = _survival(request, body.get("by", "root"), body.get("failures", 1), body)
    return http.computed_of_body(request, body, write)


def _survival(
    request: Request, by_what: str, failures: int, values: Mapping[str, Any]
) -> http.Write:
    """Return the function that writes the document.  Raises: BadRequest."""
    services = request.services
    by, _, prefix = by_what.partition(":")
    if failures > 1 and by != "root":
        raise BadRequest(
            f"{validation.PREFIX}failures is {failures} and by is {by}. Two failures are computed "
            "for by=root only."
        )

    def write(view: View) -> Json:
        keep = keep_of(view.snapshot, values)
        short = services.shared.short_requests
        groups = sql.groups(services.store, view, short, _consumers(values, "migrations"))
        survival = Survival(view.snapshot, groups, keep, services.deadline())
        domains = list(survival.domains(by, prefix))
        if not domains:
            raise BadRequest(_no_domain(view.snapshot, by, prefix))
        if failures > 1:
            count = len(domains) * (len(domains) - 1) // 2
            results = survival.until_deadline(survival.pairs(domains))
            return document.of_survival(survival, "pair", count, results)
        results = survival.until_deadline(domains)
        return document.of_survival(survival, _WORDS[by], len(domains), results, domains)

    return write


def _no_domain(snapshot: Snapshot, by: str, prefix: str) -> str:
    """Return the sentence about hosts that cannot be grouped as requested."""
    if by == "root":
        return (
            f"by is root, and there are no hosts: roots with the trait {COMPUTE_NODE} or with "
            "consumers, and not only shared."
        )
    if by == "aggregate":
        return "by is aggregate, and no host has one. Give by=root or by=root_trait:PREFIX."
    return _no_trait(snapshot, f"by is root_trait:{prefix}", prefix)


def _no_trait(snapshot: Snapshot, condition: str, prefix: str) -> str:
    prefixes = sorted({name[: name.rfind("_") + 1] or name for name in _traits(snapshot)})
    existing = _existing("prefixes of traits", _similar_first(prefix, prefixes))
    return f"{condition}, and no host has a trait with this prefix. {existing}"


def _traits(snapshot: Snapshot) -> Sequence[str]:
    """Return the traits of hosts."""
    return [name for name, _ in hosts_by(snapshot.hosts, snapshot.traits)]


def _similar_first(unknown: str, names: Sequence[str]) -> Sequence[str]:
    return list(dict.fromkeys((*similar_names(unknown, names, str, 3), *names)))


def _existing(noun: str, names: Sequence[str]) -> str:
    """Return the sentence about what hosts have."""
    return f"Hosts have these {noun}: {first(names)}." if names else f"No host has {noun}."


def keep_of(snapshot: Snapshot, values: Mapping[str, Any]) -> Keep:
    """Return what a target must have of the root that a consumer leaves.  Raises: BadRequest."""
    kept = dict.fromkeys(values.get("keep", ()))
    if len(kept) > MOST_KEPT:
        raise BadRequest(f"keep has {len(kept):,} values; the maximum is {MOST_KEPT}. Give fewer.")
    if {"none", "aggregates"} <= kept.keys():
        raise BadRequest(
            "keep is none and aggregates. Give one of them; traits:PREFIX can be given with both."
        )
    prefixes = tuple(each[7:] for each in kept if each.startswith("traits:"))
    traits = _traits(snapshot) if prefixes else ()
    for prefix in prefixes:
        if not any(name.startswith(prefix) for name in traits):
            raise BadRequest(_no_trait(snapshot, f"keep is traits:{prefix}", prefix))
    return Keep(
        aggregates="none" not in kept,
        trait_prefixes=prefixes,
        ignored=frozenset(map(canonical, values.get("member_of", ()))),
        cells=cells_of(
            snapshot,
            values.get("cells", {}),
            *(values.get(name, ()) for name in ("unreachable", "down")),
        ),
        knows_migrations="migrations" in values,
    )


def selected(snapshot: Snapshot, values: Mapping[str, Sequence[str]]) -> Sequence[int]:
    """Return the rows of the drained providers, without the providers below them.

    Raises: BadRequest.
    """
    if not any(name in values for name in _SELECTORS):
        raise BadRequest(f"No provider is selected. Give one of {', '.join(_SELECTORS)}.")
    forest, hosts = snapshot.forest, snapshot.hosts
    sharing = snapshot.sharing.mask(snapshot.size)
    providers, members, aggregates = (
        [canonical(text) for text in values.get(name, ())]
        for name in ("provider", "in_tree", "member_of")
    )
    if unknown := [uuid for uuid in (*providers, *members) if uuid not in forest.row_of]:
        raise BadRequest(
            f"There are no providers {first(unknown)}. GET /resource_providers lists the UUIDs."
        )
    rows = [forest.row_of[uuid] for uuid in providers]
    rows += [forest.root.item(forest.row_of[uuid]) for uuid in members]
    for text in dict.fromkeys(aggregates):
        having = snapshot.aggregates.get(text, NO_ROWS).numbers
        if not len(having := having[hosts[having] | ~sharing[having]]):
            names = [name for name, _ in hosts_by(hosts, snapshot.aggregates)]
            raise BadRequest(_none(f"in aggregate {text}", _existing("aggregates", names)))
        rows += having.tolist()
    for text in dict.fromkeys(values.get("root_trait", ())):
        having = snapshot.traits.get(text, NO_ROWS).numbers
        if not len(having := having[hosts[having]]):
            traits = _existing("traits", _similar_first(text, _traits(snapshot)))
            raise BadRequest(_none(f"with root trait {text}", traits))
        rows += having.tolist()
    if len(tops := list(dict.fromkeys(rows))) > MOST_PROVIDERS:
        raise BadRequest(
            f"The request selects {len(tops)} providers; a plan drains at most {MOST_PROVIDERS}. "
            "Select fewer."
        )
    return tops


def _none(condition: str, existing: str) -> str:
    return f"There is no provider {condition}; sharing providers do not count. {existing}"
