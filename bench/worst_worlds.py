"""Random worlds and requests for ``bench.worst_search``, and their mutations.

A world is described by a few numbers, so that a found one can be committed: the trees are
drawn from random numbers with its seed, and so differ in totals, usages and traits.
"""

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

CLASSES = ("VCPU", "VGPU", "FPGA")
TRAITS = ("CUSTOM_A", "CUSTOM_B", "CUSTOM_C")
MAX_PROVIDERS = 3000
MAX_GROUPS = 24
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

    def to_json(self) -> dict[str, Any]:
        """Return the description as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> "Individual":
        """Return what ``to_json`` described."""
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


# --- chance ----------------------------------------------------------------------------------


def random_individual(numbers: random.Random) -> Individual:
    """Return a world and a request."""
    levels = tuple(_random_level(numbers) for _ in range(numbers.randint(1, 4)))
    world = RandomWorld(
        seed=numbers.randrange(10**6),
        hosts=numbers.choice((1, 10, 100, 1000)),
        levels=levels,
        sharing=numbers.choice((0, 0, 0, 3, 30)),
        aggregates=numbers.randint(1, 5),
    )
    groups = tuple(_random_group(numbers) for _ in range(numbers.randint(2, 10)))
    request = RandomRequest(groups, numbers.random() < 0.5)
    return Individual(world, mutated_request(request, numbers))


def mutated(individual: Individual, numbers: random.Random) -> Individual:
    """Return the individual with one or more changes to the world, the request or both."""
    world, request = individual.world, individual.request
    for _ in range(numbers.choice((1, 1, 2, 3))):
        if numbers.random() < 0.5:
            world = _mutated_world(world, numbers)
        else:
            request = mutated_request(request, numbers)
    return Individual(world, request)


def _mutated_world(world: RandomWorld, numbers: random.Random) -> RandomWorld:
    match numbers.randrange(6):
        case 0:
            return replace(world, seed=numbers.randrange(10**6))
        case 1:
            return replace(
                world, hosts=max(1, min(3000, int(world.hosts * numbers.uniform(0, 3))))
            )
        case 2:
            sharing = max(0, world.sharing + numbers.randint(-10, 10))
            return replace(world, sharing=sharing, aggregates=numbers.randint(1, 8))
        case 3 if len(world.levels) < 6:
            return replace(world, levels=(*world.levels, _random_level(numbers)))
        case 4 if len(world.levels) > 1:
            return replace(world, levels=world.levels[:-1])
        case _:
            at = numbers.randrange(len(world.levels))
            levels = list(world.levels)
            levels[at] = _random_level(numbers)
            return replace(world, levels=tuple(levels))


def mutated_request(request: RandomRequest, numbers: random.Random) -> RandomRequest:
    """Return the request with one change."""
    match numbers.randrange(6):
        case 0:
            return replace(request, isolate=not request.isolate)
        case 1:
            return replace(request, subtrees=_random_subtrees(len(request.groups), numbers))
        case 2:
            names = numbers.sample(CLASSES, numbers.randint(0, 3))
            return replace(request, unsuffixed={name: numbers.randint(1, 4) for name in names})
        case _:
            return replace(request, groups=_mutated_groups(request, numbers))


def _random_subtrees(groups: int, numbers: random.Random) -> tuple[tuple[int, ...], ...]:
    return tuple(
        tuple(sorted(numbers.sample(range(groups), numbers.randint(2, groups))))
        for _ in range(numbers.randint(0, 3))
    )


def _mutated_groups(request: RandomRequest, numbers: random.Random) -> tuple[Group, ...]:
    """Return the groups with one added, repeated, removed or replaced."""
    groups = request.groups
    if len(groups) < MAX_GROUPS and numbers.random() < 0.5:
        return (*groups, numbers.choice((_random_group(numbers), numbers.choice(groups))))
    if len(groups) > 2 and not request.subtrees and numbers.random() < 0.3:
        return groups[:-1]
    at = numbers.randrange(len(groups))
    return (*groups[:at], _random_group(numbers), *groups[at + 1 :])


def _random_level(numbers: random.Random) -> Level:
    names = numbers.sample(CLASSES, numbers.randint(1, 3))
    return Level(
        count=numbers.choice((1, 2, 2, 3, 4, 8, 16, 60)),
        totals={name: numbers.choice((1, 2, 8, 20)) for name in names},
        traits=numbers.randint(0, 3),
        in_use=numbers.randint(0, 10),
    )


def _random_group(numbers: random.Random) -> Group:
    names = numbers.sample(CLASSES, numbers.choice((1, 1, 1, 2)))
    traits = numbers.sample(TRAITS, numbers.choice((0, 0, 1, 2)))
    return Group(
        resources={name: numbers.choice((1, 1, 1, 2, 3, 7)) for name in names},
        required=tuple(sorted(traits)),
        any_of=numbers.random() < 0.5,
    )
