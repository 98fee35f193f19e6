"""Plans that adopt, rename or retire one of the providers that a name could mean."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from placement.core.capacity import fits, integer_capacity
from placement.core.model import Inventory, ProviderSummary
from placement.core.text import nouns
from placement.db.store import Store
from placement.exception import BadRequest
from placement.objects import inventory, usage
from placement_insight.audit.consumers.model import ConsumerFilter, ListedConsumer
from placement_insight.audit.consumers.sql import all_matching
from placement_insight.audit.identity.model import NAME, UUID, Identity, Match
from placement_insight.audit.repair.action import LONGEST_NAME, Action, is_provider_name
from placement_insight.audit.repair.consumers import MoveAllocations
from placement_insight.audit.repair.providers import DeleteProvider, RenameProvider

FINDING: Final = "similar_names"
MOST_REASONS: Final = 3


class CannotPlan(BadRequest):
    """The change is not possible; the message states the reason and the action."""


def rename(identity: Identity, uuid: str, new_name: str) -> Sequence[Action]:
    """Return the renaming of a provider.  Raises: CannotPlan."""
    provider = _match(identity, uuid).provider
    if not is_provider_name(new_name):
        raise CannotPlan(
            f"Cannot rename provider {provider.uuid} to {new_name!a}: a name has 1 to "
            f"{LONGEST_NAME} characters, without NUL and surrogates."
        )
    taken = [match.provider for match in identity.matches if match.provider.name == new_name]
    if taken:
        raise CannotPlan(
            f"Cannot rename provider {provider.uuid}: provider {taken[0].uuid} has the name "
            f"{new_name}. Rename or retire that one first, or adopt its allocations."
        )
    return [
        RenameProvider(
            finding=FINDING,
            provider=provider.uuid,
            generation=provider.generation,
            name=provider.name,
            new_name=new_name,
        )
    ]


def retire(identity: Identity, uuid: str) -> Sequence[Action]:
    """Return the removal of a provider and its descendants, which must have no allocations.

    Raises: CannotPlan.
    """
    match = _match(identity, uuid)
    for provider in (*match.descendants, match.provider):
        if provider.consumers:
            raise CannotPlan(
                f"Cannot retire provider {match.provider.uuid}: {_held(provider)}. Move them with "
                "--adopt, or remove allocations of servers that do not exist with `openstack "
                "placement audit`."
            )
    return [_deletion(provider) for provider in (*match.descendants, match.provider)]


def _held(provider: ProviderSummary) -> str:
    consumers = f"{provider.consumers} {nouns(provider.consumers, 'consumer')}"
    return f"{provider.name} ({provider.uuid}) has allocations of {consumers}"


def adopt(store: Store, identity: Identity, uuid: str) -> Sequence[Action]:
    """Return the move of all allocations of a provider to the provider that has the name.

    The adopted provider and its descendants are removed last.
    Raises: CannotPlan, also if an allocation does not fit on the other provider now.
    """
    source, target = _match(identity, uuid), _target(identity)
    _check_adoption(identity, source, target)
    consumers = list(all_matching(store, ConsumerFilter(provider=source.provider.uuid)))
    if reasons := list(_refusals(store, consumers, source.provider, target)):
        raise CannotPlan(
            f"Provider {target.uuid} cannot adopt the allocations of {len(reasons)} of "
            f"{len(consumers)} {nouns(len(consumers), 'consumer')}: "
            f"{'; '.join(reasons[:MOST_REASONS])}{'; ...' if reasons[MOST_REASONS:] else ''}. "
            "Wait for nova-compute to report the inventories, raise the capacity, or move these "
            "servers first."
        )
    moves = [
        MoveAllocations(
            finding=FINDING,
            consumer=consumer.uuid,
            generation=consumer.generation,
            allocations=consumer.allocations,
            source=source.provider.uuid,
            target=target.uuid,
        )
        for consumer in consumers
    ]
    last = _deletion(source.provider)
    if moves:  # the moves change the generation of the source
        last = replace(last, generation=None)
    return [*moves, *map(_deletion, source.descendants), last]


def _check_adoption(identity: Identity, source: Match, target: ProviderSummary) -> None:
    """Return if the target can adopt the source.  Raises: CannotPlan."""
    if source.provider.uuid == target.uuid:
        raise CannotPlan(
            f"Provider {target.uuid} has the name {identity.name} already. --adopt needs the UUID "
            "of the other provider, whose allocations are moved to this provider."
        )
    if any(descendant.uuid == target.uuid for descendant in source.descendants):
        raise CannotPlan(
            f"Provider {target.uuid} cannot adopt provider {source.provider.uuid}, which is its "
            "ancestor."
        )
    for descendant in source.descendants:
        if descendant.consumers:
            raise CannotPlan(
                f"Cannot adopt provider {source.provider.uuid}: its descendant "
                f"{_held(descendant)}, and the corresponding provider is unknown. Move or delete "
                "these servers first."
            )


def _refusals(
    store: Store,
    consumers: Sequence[ListedConsumer],
    source: ProviderSummary,
    target: ProviderSummary,
) -> Iterator[str]:
    """Yield why the target would refuse consumers that are moved one after another."""
    inventories = inventory.list_of(store, target.uuid).inventories
    used = Counter(usage.of_provider(store, target.uuid).usages)
    for consumer in consumers:
        amounts = consumer.allocations[source.uuid]
        if target.uuid in consumer.allocations:
            yield f"{consumer.uuid}: it also has allocations on {target.name}"
        elif reason := _shortage(target.name, inventories, used, amounts):
            yield f"{consumer.uuid}: {reason}"
        else:
            used.update(amounts)


def _shortage(
    provider: str,
    inventories: Mapping[str, Inventory],
    used: Counter[str],
    amounts: Mapping[str, int],
) -> str | None:
    """Return the first reason why amounts do not fit on a provider, None if they fit."""
    for name, amount in amounts.items():
        if name not in inventories:
            return f"{provider} has no inventory of {name}"
        limits = inventories[name]
        if not fits(limits, used[name], amount):
            capacity = integer_capacity(limits)
            free = max(capacity - used[name], 0)
            return (
                f"{amount} {name}: {free} of {capacity} are free, min_unit {limits.min_unit}, "
                f"max_unit {limits.max_unit}, step_size {limits.step_size}"
            )
    return None


def _match(identity: Identity, uuid: str) -> Match:
    for match in identity.matches:
        if match.provider.uuid == uuid.lower():
            return match
    uuids = ", ".join(match.provider.uuid for match in identity.matches) or "none"
    raise CannotPlan(
        f"Provider {uuid} does not match the name {identity.name}. Matching providers: {uuids}."
    )


def _target(identity: Identity) -> ProviderSummary:
    for match in identity.matches:
        if match.match in (NAME, UUID):
            return match.provider
    raise CannotPlan(
        f"No provider has exactly the name {identity.name}, so none can adopt the allocations. "
        "Use the name of the provider that nova-compute reports now."
    )


def _deletion(provider: ProviderSummary) -> DeleteProvider:
    return DeleteProvider(
        finding=FINDING, provider=provider.uuid, generation=provider.generation, name=provider.name
    )
