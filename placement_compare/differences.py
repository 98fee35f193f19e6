"""Compares two responses to one request.

Both bodies are converted to a canonical form, which is equal for equivalent responses. The API
does not define the order of any list, so lists are sorted. The prefix at which a service is
mounted is removed from links. Floats are rounded to six significant digits, because MySQL stores
allocation ratios in single precision.
"""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from placement_compare.model import Difference, Response

_DIGITS = 6

_MOST_TEXT = 200


def differences(old: Response, new: Response, prefixes: tuple[str, str]) -> list[Difference]:
    """Return the differences of two responses; none if they are equivalent.

    Compares the status, then the codes of errors or the canonical bodies of other responses.
    ``prefixes`` are the paths at which the services are mounted.
    """
    if 0 in {old.status, new.status}:
        return [Difference("no response", "", _outcome(old), _outcome(new))]
    if old.status != new.status:
        where = f"{old.status} and {new.status}"
        return [Difference("status", where, _outcome(old), _outcome(new))]
    if old.status >= 400:
        codes = error_code(old.body), error_code(new.body)
        if codes[0] == codes[1]:
            return []
        where = f"{codes[0]} and {codes[1]}"
        return [Difference("error code", where, _outcome(old), _outcome(new))]
    bodies = canonical(old.body, prefixes[0]), canonical(new.body, prefixes[1])
    if "allocation_requests" in bodies[0] and "allocation_requests" in bodies[1]:
        return list(_candidates(*bodies))
    return list(_values(*bodies, ""))


def _candidates(old: Any, new: Any) -> Iterator[Difference]:
    """Yield a difference for candidates that only one response has, then for the summaries."""
    # Below 1.34 equal candidates may occur twice.
    counts = [Counter(map(sort_key, body["allocation_requests"])) for body in (old, new)]
    if only_old := sorted(counts[0] - counts[1]):
        yield Difference("candidates", "only old", _sample(only_old, counts[0]), "")
    if only_new := sorted(counts[1] - counts[0]):
        yield Difference("candidates", "only new", "", _sample(only_new, counts[1]))
    if counts[0] == counts[1]:
        summaries = old.get("provider_summaries"), new.get("provider_summaries")
        yield from _values(*summaries, "provider_summaries")


def _sample(part: list[str], whole: Counter[str]) -> str:
    return _cut(f"{len(part)} of {whole.total()}, for example {part[0]}")


def _values(old: Any, new: Any, where: str) -> Iterator[Difference]:
    """Yield the differences of canonical values; nested values are compared one by one."""
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _objects(old, new, where)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _lists(old, new, where)
    elif old != new:
        yield Difference("body", where, _cut(sort_key(old)), _cut(sort_key(new)))


def _objects(old: dict[str, Any], new: dict[str, Any], where: str) -> Iterator[Difference]:
    for name in sorted(old.keys() | new.keys()):
        # A UUID or a resource class is data; differences of all of them have one cause.
        is_field = name.isidentifier() and name.islower()
        place = f"{where}.{name if is_field else '*'}".lstrip(".")
        if name in old and name in new:
            yield from _values(old[name], new[name], place)
        else:
            yield Difference("body", place, _present(old, name), _present(new, name))


def _lists(old: list[Any], new: list[Any], where: str) -> Iterator[Difference]:
    """Yield one difference for the items that only one list has."""
    old_items, new_items = ({sort_key(item): item for item in items} for items in (old, new))
    only_old = [item for key, item in old_items.items() if key not in new_items]
    only_new = [item for key, item in new_items.items() if key not in old_items]
    pairs = _by_uuid(only_old), _by_uuid(only_new)
    if pairs[0] and pairs[0].keys() == pairs[1].keys():
        for uuid, item in pairs[0].items():
            yield from _values(item, pairs[1][uuid], f"{where}.*")
    elif only_old or only_new or len(old) != len(new):
        yield Difference("body", f"{where}.*", _cut(sort_key(only_old)), _cut(sort_key(only_new)))


def _by_uuid(items: list[Any]) -> dict[str, Any]:
    """Return objects by UUID; nothing if an item has no UUID."""
    if all(isinstance(item, dict) and "uuid" in item for item in items):
        return {item["uuid"]: item for item in items}
    return {}


def _present(body: dict[str, Any], name: str) -> str:
    return _cut(f"{name}: {sort_key(body[name])}") if name in body else "absent"


def _outcome(response: Response) -> str:
    text = response.body.decode(errors="replace")
    return _cut(f"{response.status or 'none'} {error_code(response.body) or ''} {text}")


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}..."


def canonical(body: bytes, prefix: str) -> Any:
    """Return the canonical form of a JSON body; the text itself if it is not JSON."""
    try:
        return _canonical(json.loads(body), prefix)
    except ValueError:
        return body.decode(errors="replace")


def error_code(body: bytes) -> str | None:
    """Return the error code of an error response, if it has one."""
    try:
        code = json.loads(body)["errors"][0].get("code")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        return None
    return None if code is None else str(code)


def sort_key(value: Any) -> str:
    """Return a text by which canonical values are ordered."""
    return json.dumps(value, sort_keys=True)


def _canonical(value: Any, prefix: str) -> Any:
    if isinstance(value, dict):
        return {
            name: _without_prefix(item, prefix) if name == "href" else _canonical(item, prefix)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return sorted((_canonical(item, prefix) for item in value), key=sort_key)
    if isinstance(value, float):
        rounded = float(f"{value:.{_DIGITS}g}")
        return int(rounded) if rounded.is_integer() else rounded
    return value


def _without_prefix(href: Any, prefix: str) -> Any:
    return href.removeprefix(prefix) if isinstance(href, str) else href
