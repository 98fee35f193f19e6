"""Names of providers, aggregates, projects and servers beside their UUIDs.

``uuid_of`` is the meaning of a name in an option of a command; ``named`` adds the names to a text.
"""

import re
import shlex
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain
from typing import Final

from placement.core.text import Names, printable
from placement.exception import BadRequest

_UUID = re.compile(r"\b[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\b")
# Of IPv6 addresses, only those that end with an IPv4 address have dots.
_ADDRESS = re.compile(r"(?:[0-9a-f:]*:)?[0-9.]+")
_DOMAIN = re.compile(r"[A-Za-z0-9.-]*")
_MOST_NEAREST: Final = 5


def option(name: str, value: str) -> str:
    """Return an option of a shown command with its value, quoted for a shell.

    >>> option("--in-tree", "cn1"), option("--in-tree", "-a b")
    ('--in-tree cn1', "'--in-tree=-a b'")
    """
    return shlex.join([f"{name}={value}"] if value.startswith("-") else [name, value])


def argument(value: str) -> str:
    """Return the last argument of a shown command, quoted for a shell.

    >>> argument("cn1"), argument("-a b")
    ('cn1', "-- '-a b'")
    """
    return shlex.join(["--", value] if value.startswith("-") else [value])


class UnknownName(BadRequest):
    """No thing has the name, or several have it; the message lists the nearest names."""


def uuid_of(name: str, names: Names, kind: str, roots: Container[str] = ()) -> str:
    """Return the UUID of the only thing with the name, or of the only root with it.

    Without an equal name, letter case and domains are ignored: ``cn1`` means
    ``cn1.example.org`` if no other host is called cn1. ``kind`` is a noun for the message, such as
    ``provider``.

    >>> names = {"u1": "cn1.example.org", "u2": "cn2.example.org", "u3": "cn1.example.org_0000:81"}
    >>> uuid_of("cn1", names, "provider")
    'u1'

    Raises: UnknownName.
    """
    equal = [uuid for uuid, known in names.items() if known == name]
    short = short_name(name)
    found = equal or [uuid for uuid, known in names.items() if short_name(known) == short]
    found = [uuid for uuid in found if uuid in roots] or found
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(f"{names[uuid]} ({uuid})" for uuid in found[:_MOST_NEAREST])
        raise UnknownName(printable(f"{name} is the name of {len(found)} {kind}s: {listed}."))
    nearest = ", ".join(nearest_names(name, names.values()))
    first = min(names.values(), default="")
    number = f" Known: {len(names)}, such as {first}." if names else f" There are no {kind}s."
    similar = f" Similar names: {nearest}." if nearest else number
    name = name or "''"
    raise UnknownName(printable(f"No {kind} has the name {name}.{similar}"))


def host_name(name: str) -> str:
    """Return the name without its domain.

    Of children, nova appends what they are to the name of the host: this is no domain.

    >>> host_name("CN1.example.org"), host_name("192.0.2.1")
    ('CN1', '192.0.2.1')
    >>> host_name("cn1.example.org_0000:81:00.0")
    'cn1.example.org_0000:81:00.0'
    """
    host, _, domain = name.partition(".")
    return host if host and _DOMAIN.fullmatch(domain) and not _ADDRESS.fullmatch(name) else name


def short_name(name: str) -> str:
    """Return the name without its domain, in lower case."""
    return host_name(name).lower()


def nearest_names(name: str, names: Iterable[str]) -> Sequence[str]:
    """Return the most similar names, at most five: names that contain the text come first.

    Letter case and domains are ignored.

    >>> nearest_names("gpu-1", ["gpu-01", "gpu-12", "gpu-1-numa0", "cn1"])
    ['gpu-12', 'gpu-1-numa0', 'gpu-01']
    """
    unique = sorted(set(names), key=lambda known: (len(known), known))
    containing = [known for known in unique if name.lower() in known.lower()]
    similar = similar_names(name, unique, short_name, _MOST_NEAREST)
    return list(dict.fromkeys((*containing, *similar)))[:_MOST_NEAREST]


def similar_names(
    name: str, known: Iterable[str], stem: Callable[[str], str], most: int
) -> Sequence[str]:
    """Return the known names with the most similar stems, the best first.

    >>> similar_names("CN-1", ["cn2", "cn1.b", "cn1.a"], short_name, 2)
    ['cn1.a', 'cn1.b']
    """
    by_stem: dict[str, list[str]] = {}
    for existing in sorted(known):
        by_stem.setdefault(stem(existing), []).append(existing)
    stems = get_close_matches(stem(name), by_stem, most)
    return [existing for similar in stems for existing in by_stem[similar]][:most]


def named(text: str, names: Names) -> str:
    """Return the text with the name before each UUID that has one, and is not after it already.

    >>> named("in 5e08ea53c4c6448e9334ac4953de3cfa", {"5e08ea53c4c6448e9334ac4953de3cfa": "az1"})
    'in az1 (5e08ea53c4c6448e9334ac4953de3cfa)'
    """

    def with_name(match: re.Match[str]) -> str:
        uuid = match[0]
        is_named = text[: match.start()].endswith(" (")
        return uuid if is_named or uuid not in names else f"{printable(names[uuid])} ({uuid})"

    return _UUID.sub(with_name, text)


def names_in(value: object, names: Names) -> dict[str, str]:
    """Return the names of the UUIDs in a value and its members.

    >>> names_in({"parent": None, "aggregates": ["u1"]}, {"u1": "az1", "u2": "az2"})
    {'u1': 'az1'}
    """
    return {text: names[text] for text in texts_in(value) if text in names}


def texts_in(value: object) -> Iterator[str]:
    """Yield the texts in a value and its members."""
    members = [value]
    while members:
        match members.pop():
            case str(text):
                yield text
            case Mapping() as mapping:
                members += reversed([*chain.from_iterable(mapping.items())])
            case Sequence() as sequence:
                members += reversed(sequence)


def legend(text: str, names: Names) -> Iterator[str]:
    """Yield a line with the name of each UUID in a text that has one.

    >>> uuid = "5e08ea53-c4c6-448e-9334-ac4953de3cfa"
    >>> list(legend(f"resources=VCPU:1&in_tree={uuid}", {uuid: "cn1"}))
    ['5e08ea53-c4c6-448e-9334-ac4953de3cfa: cn1']
    """
    for uuid in dict.fromkeys(_UUID.findall(text)):
        if uuid in names:
            yield f"{uuid}: {printable(names[uuid])}"


def uuids_in(text: str) -> set[str]:
    """Return the UUIDs in a text, with or without hyphens."""
    return set(_UUID.findall(text))
