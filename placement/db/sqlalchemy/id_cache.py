"""Which id a name has, as far as this process knows.

The id of a project, user, consumer type, trait or resource class never changes
once the row is made, so a process asks for it once. What is remembered may
have gone or, for a custom class, got another name meanwhile: whoever puts a
custom class or trait to use locks its row by id and looks.

A transaction learns into a draft, which is kept only if it commits: an id that
was rolled back may be given to another name.
"""

from collections.abc import Iterable, Mapping


class Known:
    """Ids by name of one kind of thing."""

    def __init__(self, base: "Known | None" = None) -> None:
        self._base = base
        self._ids: dict[str, int] = {}
        self._names: dict[int, str] = {}

    def id_of(self, name: str) -> int | None:
        """Return the id of the name, None if it is not known here."""
        found = self._ids.get(name)
        return self._base.id_of(name) if found is None and self._base else found

    def __getitem__(self, name: str) -> int:
        """Return the id of a name that is known.  Raises: KeyError."""
        found = self.id_of(name)
        if found is None:
            raise KeyError(name)
        return found

    def name_of(self, id_: int) -> str | None:
        """Return the name with the id, None if it is not known here."""
        found = self._names.get(id_)
        return self._base.name_of(id_) if found is None and self._base else found

    def missing(self, names: Iterable[str]) -> list[str]:
        """Return those of the names that are not known, each once and in order."""
        return [name for name in dict.fromkeys(names) if self.id_of(name) is None]

    def learn(self, ids: Mapping[str, int]) -> None:
        """Remember ids by name."""
        self._ids.update(ids)
        self._names.update((id_, name) for name, id_ in ids.items())

    def forget(self, name: str) -> None:
        """Know no more of a name that was removed or changed."""
        id_ = self._ids.pop(name, None)
        if id_ is not None and self._names.get(id_) == name:
            del self._names[id_]
        if self._base is not None:
            self._base.forget(name)

    def keep(self) -> None:
        """Hand what this draft learned to what it was drafted from."""
        if self._base is not None and self._ids:
            self._base.learn(self._ids)


class Names:
    """All that a process, or one transaction, knows by name."""

    def __init__(self) -> None:
        self.resource_classes = Known()
        self.traits = Known()
        self.projects = Known()
        self.users = Known()
        self.consumer_types = Known()

    def draft(self) -> "Names":
        """Return what a transaction learns into; it sees everything that is known here."""
        draft = Names()
        for kind, known in vars(self).items():
            setattr(draft, kind, Known(known))
        return draft

    def keep(self) -> None:
        """Hand everything this draft learned on: its transaction is committed."""
        for known in vars(self).values():
            known.keep()
