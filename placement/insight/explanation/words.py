"""The words for a row of a funnel, an unmet requirement and a remedy, from their documents."""

from collections.abc import Callable, Mapping
from typing import Any

Document = Mapping[str, Any]

_NONE_EXISTS = {
    "members": "the aggregate has no providers",
    "exists": "no such provider",
    "providers": "no provider has it",
}
"""The sentence about a fact of a row of the funnel that is 0, or false."""


def phrase(row: Document) -> str:
    """Return the reason of a row of the funnel, or of an unmet requirement, in words."""
    facts = {**row, **row.get("detail", {})}
    return _PHRASES[row["code"]](facts) + _in_group(row)


def _in_group(row: Document) -> str:
    group = row["group"]
    return f" in group {group}" if group and row["code"] != "one_provider" else ""


def _value(row: Document) -> str:
    value: str = row["requirement"].partition("=")[2]
    return value.removeprefix("!").removeprefix("in:")


def _unit(facts: Document) -> str:
    """Return the limit that the amount exceeds: of one provider, or the widest limit of several.

    The widest limits are missing if no provider is considered.
    """
    needed, amount = facts["needed"], f"{facts['resource_class']}:{facts['needed']}"
    if needed > facts.get("max_unit", needed):
        return f"{amount} above max_unit {facts['max_unit']}"
    if needed < facts.get("min_unit", needed):
        return f"{amount} below min_unit {facts['min_unit']}"
    sizes = facts.get("step_sizes", [facts.get("step_size")])
    if all(size and needed % size for size in sizes):
        return f"{amount} not a multiple of step_size {' or '.join(map(str, sizes))}"
    return f"{amount} outside min_unit, max_unit and step_size"


def _combined(facts: Document) -> str:
    groups = facts.get("groups", [])
    if not groups:
        return f"not together: {facts['requirement']}"
    wanted = [
        " + ".join(
            name if amount == 1 else f"{amount} {name}"
            for name, amount in group["resources"].items()
        )
        for group in groups
    ]
    counts = [f"{group['groups']} x " if group["groups"] > 1 else "" for group in groups]
    return " + ".join(map("".join, zip(counts, wanted, strict=True))) + " together"


_PHRASES: Mapping[str, Callable[[Document], str]] = {
    "root_trait": lambda facts: (
        f"root has {'' if '=!' in facts['requirement'] else 'no '}trait {_value(facts)}"
    ),
    "forbidden_aggregate": lambda facts: f"in aggregate {_value(facts)}",
    "aggregate": lambda facts: f"not in aggregate {_value(facts)}",
    "in_tree": lambda facts: f"not in the tree of {_value(facts)}",
    "trait": lambda facts: f"no trait {_value(facts)}",
    "forbidden_trait": lambda facts: f"trait {_value(facts)}",
    "no_inventory": lambda facts: f"no inventory of {facts['resource_class']}",
    "unit": _unit,
    "capacity": lambda facts: f"fewer than {facts['needed']} {facts['resource_class']} free",
    "one_provider": lambda facts: f"no single provider for {facts['requirement']}",
    "combined": _combined,
    "isolate": lambda _facts: "too few providers for group_policy=isolate",
    "same_subtree": lambda facts: f"not in one subtree: {_value(facts)}",
    "one_provider_per_tree": lambda _facts: "several providers of one tree (needs 1.29)",
}


def note(row: Document) -> str:
    """Return the facts about existing providers in a row of the funnel, if any."""
    detail = row["detail"]
    for fact, sentence in _NONE_EXISTS.items():
        if detail.get(fact) == 0:
            return sentence
    if row["code"] in _ELSEWHERE:
        return _elsewhere(row)
    facts = [_best(detail)]
    if tree := detail.get("tree"):
        groups = -(-detail["needed"] // tree["largest"])
        together = f"{tree['provider']['name']} has {_together(detail)}"
        facts.append(f"{together}: request them in {groups} groups")
    return "; ".join(filter(None, facts))


def _best(detail: Document) -> str:
    """Return the root or provider that comes closest, compared with what it would have to have."""
    if detail.get("fitting_groups", detail.get("free")) == 0:
        return "none fits" if "fitting_groups" in detail else "none has any free"
    if "fitting_groups" in detail:
        wanted = f"{detail['needed_groups']} x {detail['amount']} {detail['resource_class']}"
        return f"best: {detail['provider']['name']} fits {detail['fitting_groups']} of {wanted}"
    if "free" in detail and detail["free"] < detail["needed"]:
        return f"best: {detail['provider']['name']} has {detail['free']} free"
    return ""


def _together(amounts: Document) -> str:
    """Return what several providers of one tree have together, and none has alone."""
    tree = amounts["tree"]
    return (
        f"{tree['free']} {amounts['resource_class']} free on {tree['providers']} providers, "
        f"none has {amounts['needed']}"
    )


_ELSEWHERE = ("aggregate", "trait", "root_trait")


def _elsewhere(row: Document) -> str:
    """Return which providers have the trait, or are in the aggregate, and do not count."""
    detail = row["detail"]
    if outside := detail.get("outside"):
        classes, name = ", ".join(outside["resource_classes"]), outside["provider"]["name"]
        return f"{name}, which shares {classes} with {outside['roots']:,} that are, is not"
    if excluded := detail.get("excluded"):
        return (
            f"{excluded['provider']['name']} has it, excluded: {phrase({**excluded, 'group': ''})}"
        )
    is_one = detail.get("providers") == 1
    having = "1 provider has it" if is_one else f"{detail.get('providers', 0):,} providers have it"
    if "without" in detail:
        classes = " or ".join(detail["without"])
        return f"{having}, {'not' if is_one else 'none'} with {classes}"
    if detail.get("roots") == 0:
        return f"{having}, {'which is no root' if is_one else 'none is a root'}"
    return ""


def lack(unmet: Document, root: str) -> str:
    """Return one unmet requirement of a root as amounts, or in words if it has no amounts.

    The provider is named if it is shared, or if another one of the tree may have the class.
    """
    if "tree" in unmet:
        return _together(unmet) + _in_group(unmet)
    is_child = unmet["code"] == "no_inventory" and unmet["provider"]["uuid"] != root
    where = f"{unmet['provider']['name']}: " if unmet.get("shared") or is_child else ""
    return where + _lack_of_provider(unmet)


def _lack_of_provider(unmet: Document) -> str:
    is_short = unmet.get("free", 0) < unmet.get("needed", 0)
    if unmet["code"] == "capacity" or (unmet["code"] == "combined" and is_short):
        where = " together" if unmet["code"] == "combined" else _in_group(unmet)
        amount = f"{unmet['resource_class']} {max(unmet['free'], 0)} of {unmet['needed']}"
        is_reserved = unmet["capacity"] <= 0 < unmet["reserved"]
        return f"{amount}{' (all reserved)' if is_reserved else ''}{where}"
    return phrase(unmet)


def change_text(document: Document) -> str:
    """Return the change of a remedy, after the number of hosts."""
    if document["change"] == "both":
        return _two_changes(*document["changes"])
    if alike := document.get("alike"):
        return f"{_in_one_group(document)} in any of the {len(alike)} groups"
    where = f" in group {document['group']}" if document.get("group") else ""
    return _in_one_group(document) + where


def _two_changes(first: Document, second: Document) -> str:
    """Return two changes in words; those of equal groups are in two different groups."""
    groups, others = (set(change.get("alike", ())) for change in (first, second))
    if not groups > others > set():
        return f"{change_text(first)} and {change_text(second)}"
    text, other_text = _in_one_group(first), _in_one_group(second)
    if text == other_text:
        return f"{text} in any 2 of the {len(groups)} groups"
    return f"{change_text(first)} and {other_text} in any of the other {len(others)} groups"


def _in_one_group(document: Document) -> str:
    """Return a change in words, without the suffix if the group is one of several equal ones."""
    if document["change"] == "amount":
        return f"at {document['resource_class']}:{document['to']}"
    if document["change"] == "split":
        return f"with {document['parts']} groups of {document['resource_class']}:{document['to']}"
    requirement = document["requirement"]
    if alike := document.get("alike"):
        requirement = requirement.replace(f"{alike[0]}=", "=")
    if document.get("instead"):
        return f"with {document['instead']} instead of {requirement}"
    return f"without {requirement}"
