"""Whether an answer is right, and whether two services said the same."""

from collections.abc import Hashable, Iterable
from typing import Any

from bench.client import Answer

# keys whose values depend on when, not on what
_PASSING = frozenset({"links"})


class WrongAnswer(Exception):  # noqa: N818  named by the mistake
    """An answer that must not be: the run goes on, and fails at its end."""


def count(answer: Answer) -> int:
    """Candidates or providers in an answer; 1 for a single thing."""
    content = answer.json()
    for key in ("allocation_requests", "resource_providers"):
        if key in content:
            return len(content[key])
    return 1


def check(answer: Answer, wanted: int | None, who: str) -> None:
    """Raise WrongAnswer unless the answer is a 200 with the wanted number of things."""
    if answer.status != 200:
        raise WrongAnswer(f"{who} answered {answer.status}: {answer.body[:300]!r}")
    content = answer.json()
    if wanted is not None and count(answer) != wanted:
        raise WrongAnswer(f"{who} returned {count(answer)}, not {wanted}")
    candidates = [_candidate(one) for one in content.get("allocation_requests", ())]
    if len(set(candidates)) != len(candidates):
        raise WrongAnswer(f"{who} returned a candidate twice")


def compare(ours: Answer, reference: Answer, *, limited: bool) -> None:
    """Raise WrongAnswer if the answers differ; limited ones may hold different candidates."""
    if limited:
        if count(ours) != count(reference):
            raise WrongAnswer(f"{count(ours)} here, {count(reference)} from the reference")
    elif _plain(ours.json()) != _plain(reference.json()):
        raise WrongAnswer("the answer is not the reference's")


def _candidate(one: dict[str, Any]) -> Hashable:
    """What is taken where by which group, comparable."""
    return _plain(one["allocations"]), _plain(one.get("mappings", {}))


def _plain(content: Any) -> Hashable:
    """A decoded document without order and without links."""
    if isinstance(content, dict):
        items: Iterable[Any] = content.items()
        return frozenset((key, _plain(value)) for key, value in items if key not in _PASSING)
    if isinstance(content, list):
        return frozenset(map(_plain, content))
    plain: Hashable = content
    return plain
