"""Worlds and requests that a search by mutation found to be expensive: ``worst_found.json``.

A world is described by a few numbers: the trees are drawn from random numbers with its seed, and
so differ in totals, usages and traits.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

CLASSES = ("VCPU", "VGPU", "FPGA")
TRAITS = ("CUSTOM_A", "CUSTOM_B", "CUSTOM_C")
MAX_PROVIDERS = 3000
LIMIT = 1000


@dataclass(frozen=True)
class Level:
    """Children of each provider of the level above: how many, and what they offer at most."""

    count: int
    totals: dict[str, int]
    traits: int = 1
    # of ten providers, how many are in use by a random amount
    in_use: int = 5


@dataclass(frozen=True)
class RandomWorld:
    """Hosts with providers of some levels below; sharing providers in random aggregates."""

    seed: int
    hosts: int
    levels: tuple[Level, ...]
    sharing: int = 0
    aggregates: int = 1


@dataclass(frozen=True)
class Group:
    """A suffixed group: amounts, and required traits, of which any will do if ``any_of``."""

    resources: dict[str, int]
    required: tuple[str, ...] = ()
    any_of: bool = False


@dataclass(frozen=True)
class RandomRequest:
    """Groups, numbered from 0, and the numbers of those of each same_subtree."""

    groups: tuple[Group, ...]
    isolate: bool
    subtrees: tuple[tuple[int, ...], ...] = ()
    unsuffixed: dict[str, int] | None = None


@dataclass(frozen=True)
class Individual:
    """A world and a request."""

    world: RandomWorld
    request: RandomRequest

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> "Individual":
        """Return the individual that JSON values describe."""
        world, request = document["world"], document["request"]
        levels = tuple(Level(**level) for level in world["levels"])
        groups = tuple(
            Group(**{**group, "required": tuple(group["required"])}) for group in request["groups"]
        )
        subtrees = tuple(tuple(numbers) for numbers in request["subtrees"])
        return cls(
            RandomWorld(**{**world, "levels": levels}),
            RandomRequest(**{**request, "groups": groups, "subtrees": subtrees}),
        )


# --- text ------------------------------------------------------------------------------------


def layout(world: RandomWorld) -> str:
    """Return the providers as text for ``support.worlds``; fewer if there are too many."""
    numbers = random.Random(world.seed)
    lines = [
        f"ss{n} {_inventories(Level(1, dict.fromkeys(CLASSES, 2)), numbers)} "
        f"@a{numbers.randrange(world.aggregates)} +MISC_SHARES_VIA_AGGREGATE"
        for n in range(world.sharing)
    ]
    for host in range(world.hosts):
        tree = list(_subtree(f"cn{host}", 0, world, numbers))
        if len(lines) + len(tree) > MAX_PROVIDERS:
            break
        lines += tree
    return "\n".join(lines)


def _subtree(name: str, depth: int, world: RandomWorld, numbers: random.Random) -> Iterator[str]:
    level = world.levels[depth]
    aggregate = "" if depth else f" @a{numbers.randrange(world.aggregates)}"
    yield f"{'  ' * depth}{name} {_inventories(level, numbers)}{aggregate}"
    if depth + 1 < len(world.levels):
        for number in range(world.levels[depth + 1].count):
            yield from _subtree(f"{name}x{number}", depth + 1, world, numbers)


def _inventories(level: Level, numbers: random.Random) -> str:
    words = []
    for name, most in level.totals.items():
        total = numbers.randint(1, most)
        used = numbers.randint(0, total) if numbers.randrange(10) < level.in_use else 0
        words.append(f"{name}={total}(used={used})")
    words += [f"+{trait}" for trait in sorted(numbers.sample(TRAITS, min(level.traits, 3)))]
    return " ".join(words)


def query(request: RandomRequest) -> str:
    """Return the query string, with a limit."""
    parts = [f"limit={LIMIT}", f"group_policy={'isolate' if request.isolate else 'none'}"]
    if request.unsuffixed:
        parts.append(f"resources={_amounts(request.unsuffixed)}")
    for number, group in enumerate(request.groups):
        parts.append(f"resources_{number}={_amounts(group.resources)}")
        if group.required:
            prefix = "in:" if group.any_of else ""
            parts.append(f"required_{number}={prefix}{','.join(group.required)}")
    parts += [
        "same_subtree=" + ",".join(f"_{number}" for number in subtree)
        for subtree in request.subtrees
    ]
    return "&".join(parts)


def _amounts(resources: dict[str, int]) -> str:
    return ",".join(f"{name}:{amount}" for name, amount in resources.items())
