"""Findings about the trees of providers, and about their rows."""

from collections.abc import Iterator, Sequence

from placement_insight.audit.finding import Commands, InPlan, Named, OfProvider
from placement_insight.audit.model import AuditedProvider, AuditedState


class OfTree(OfProvider, InPlan):
    """``expected_root`` is the end of the chain of parents, None in a loop.

    A provider whose parent does not exist belongs to its root, if this one exists.
    """

    parent: str | None
    root: str | None
    expected_root: str | None

    @property
    def expected_parent(self) -> str | None:
        """The UUID of the parent that the provider should have, None for a root."""
        is_root = self.expected_root == self.provider.uuid
        return self.parent or (None if is_root else self.expected_root)

    def first_command(self, commands: Commands) -> str:
        """Return the command with which the repair begins, none in a loop."""
        return super().first_command(commands) if self.expected_root else ""


class MissingRoot(OfTree, code="missing_root"):
    """A provider without a root."""


class MissingParent(OfTree, code="missing_parent"):
    """A provider whose parent does not exist."""


class WrongRoot(OfTree, code="wrong_root"):
    """A provider with another root than its parent."""


def trees(state: AuditedState) -> Iterator[OfTree]:
    """Yield a finding for each provider whose parent or root is wrong."""
    for provider in state.providers.values():
        parent, root = state.provider(provider.parent_id), state.provider(provider.root_id)
        top = _top(provider, state)
        if wrong := _wrong_tree(provider, parent, root, top):
            kind, cause, repair = wrong
            yield kind(
                provider=provider.named,
                parent=parent and parent.uuid,
                root=root and root.uuid,
                expected_root=top and top.uuid,
                cause=cause,
                repair=repair,
            )


def _wrong_tree(
    provider: AuditedProvider,
    parent: AuditedProvider | None,
    root: AuditedProvider | None,
    top: AuditedProvider | None,
) -> tuple[type[OfTree], str, str] | None:
    """Return the kind of a finding, its cause and repair; None if the tree is right."""
    if root is None:
        repair = "set the root to that of the parent, or to the provider itself"
        return MissingRoot, _cause_of_missing(provider.root_id), repair
    if provider.parent_id is not None and parent is None:
        repair = "make it a root" if top is provider else "make it a child of its root"
        return MissingParent, _cause_of_missing(provider.parent_id), repair
    if top is None:
        repair = "none: set the parent of one provider of the loop to NULL"
        return WrongRoot, "its parents are a loop", repair
    if root is top:
        return None
    if parent is None:
        return WrongRoot, "it has no parent", "set the root to the provider"
    cause = f"the root of its parent {parent.uuid} is another one"
    return WrongRoot, cause, "set the root to that of the parent"


def _cause_of_missing(id_: int | None) -> str:
    return "none is set" if id_ is None else f"the provider with the id {id_} does not exist"


def _top(provider: AuditedProvider, state: AuditedState) -> AuditedProvider | None:
    """Return the root that a provider should have, None in a loop of parents."""
    *_, last = _ancestors(provider, state)
    if last.parent_id in state.providers:
        return None
    root = state.provider(last.root_id)
    if last.parent_id is None or root is None:
        return last
    *_, top = _ancestors(root, state)
    return top if top.parent_id is None else last


def _ancestors(provider: AuditedProvider, state: AuditedState) -> Iterator[AuditedProvider]:
    """Yield the provider, its parent and so on; in a loop of parents, each provider once."""
    visited = set()
    current: AuditedProvider | None = provider
    while current is not None and current.id not in visited:
        visited.add(current.id)
        yield current
        current = state.provider(current.parent_id)


class NestedComputeNode(OfProvider, InPlan, code="nested_compute_node"):
    """A host below another one; ``parent`` and ``root`` are None in documents before 1.1."""

    repair: str = "make it the root of its own tree, with the providers below it"
    host: Named
    parent: str | None
    root: str | None


def nested_compute_nodes(state: AuditedState) -> Iterator[NestedComputeNode]:
    """Yield a finding for each host that is in the tree of another host, the nearest one."""
    for provider in state.providers.values():
        hosts = [each for each in _ancestors(provider, state) if each.uuid in state.hosts]
        if len(hosts) > 1 and hosts[0] is provider:
            parent, root = state.provider(provider.parent_id), state.provider(provider.root_id)
            yield NestedComputeNode(
                provider=provider.named,
                host=hosts[1].named,
                parent=parent and parent.uuid,
                root=root and root.uuid,
                cause=f"it is below {hosts[1].name}: candidates and claims combine both hosts",
            )


class EditedProvider(OfProvider, code="edited_by_sql"):
    """A provider whose rows were changed by SQL: the UUIDs in the database and in the snapshot."""

    repair: str = "run db sync, so that each process loads the data again"
    provider_id: int
    stored: str | None
    served: str | None
    differences: Sequence[str]

    def first_command(self, commands: Commands) -> str:
        """Return the command with which the repair begins."""
        return f"{commands.manage} db sync"
