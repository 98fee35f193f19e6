"""The explanation of one request for candidates, as a value and as JSON.

Field names and codes are stable; later releases may add fields. The field ``text`` of rows, unmet
requirements and remedies has the sentence, with names of providers instead of UUIDs.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from placement.core.request import RequestGroup
from placement.core.text import Names, timestamp
from placement_insight.documents import Json, document
from placement_insight.explain.changes import Change, Remedy
from placement_insight.explain.facts import FunnelRow, ProviderName, json_fields
from placement_insight.explain.requirements import NO_PROVIDERS, UNDETERMINED
from placement_insight.explain.unmet import NearMiss


@dataclass(frozen=True, slots=True)
class Explanation:
    """The losses of a request by requirement, the closest roots, and changes that would help.

    ``fits`` is the number of roots with a candidate, None if the funnel did not finish. If the
    funnel finished, the sum of all losses and ``fits`` is ``roots``. ``remedies`` is empty unless
    the caller requests remedies. If the caller asks about one ``root``, ``near_misses`` has this
    root only, unless it fits; ``root_fits`` is None if the funnel did not finish. ``undetermined``
    names the computations that did not finish within the budget: "funnel", "near_misses",
    "remedies". ``names`` has the names of the providers whose trees the request names, by UUID,
    and the numbers of the ``numbered`` groups, by suffix.
    """

    query: str
    microversion: str
    roots: int
    fits: int | None
    funnel: tuple[FunnelRow, ...]
    near_misses: tuple[NearMiss, ...] = ()
    remedies: tuple[Remedy[Change], ...] = ()
    undetermined: tuple[str, ...] = ()
    root: ProviderName | None = None
    root_fits: bool | None = None
    names: Names = field(default_factory=dict)
    numbered: tuple[RequestGroup, ...] = ()

    @property
    def last(self) -> FunnelRow | None:
        """The row that removed the last roots of a request that no root fits."""
        return self.funnel[-1] if self.funnel and self.fits == 0 else None

    @property
    def reason(self) -> str:
        """The code of the reason why a request has no candidates."""
        if self.fits is None:
            return UNDETERMINED
        return self.last.requirement.code if self.last else NO_PROVIDERS

    def document(self) -> Json:
        """Return the JSON document of an explanation that was computed now."""
        names = self.names
        of_root = {**json_fields(self.root), "fits": self.root_fits} if self.root else None
        optional = {"groups": [*self._groups()], "root": of_root}
        return document(
            query=self.query,
            microversion=self.microversion,
            at=timestamp(datetime.now(UTC)),
            roots=self.roots,
            fits=self.fits,
            funnel=[row.document(names) for row in self.funnel],
            near_misses=[miss.document(names) for miss in self.near_misses],
            remedies=[remedy.document(names) for remedy in self.remedies],
            undetermined=self.undetermined,
            **{name: value for name, value in optional.items() if value},
        )

    def _groups(self) -> Iterator[Json]:
        for group in self.numbered:
            number, parameters = self.names[group.suffix], replace(group, suffix="")
            spelled = "&".join(parameters.spelled(self.names))
            text = f"group {number}: {spelled}, suffix {group.suffix}"
            yield {"group": group.suffix, "number": number, "text": text}
