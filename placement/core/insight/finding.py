"""One finding of an audit, and the codes of all kinds.

``error`` is what makes the service answer wrongly or wastes capacity; ``notice`` is for an
operator to look at, and may be as intended.
"""

from collections.abc import Mapping
from dataclasses import dataclass

ERROR = "error"
NOTICE = "notice"

SEVERITIES: Mapping[str, str] = {
    "missing_root": ERROR,
    "missing_parent": ERROR,
    "wrong_root": ERROR,
    "missing_provider": ERROR,
    "missing_inventory": ERROR,
    "missing_consumer": ERROR,
    "empty_consumer": ERROR,
    "orphaned_consumer": ERROR,
    "doubled_consumer": ERROR,
    "usage_counter": ERROR,
    "over_capacity": ERROR,
    "similar_names": NOTICE,
    "unused_class": NOTICE,
    "unused_trait": NOTICE,
    "stale_provider": NOTICE,
}
"""All codes, in the order in which findings are listed."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    ``rows`` names the rows concerned, by UUIDs and names; ``cause`` is empty if it is not known.
    """

    code: str
    rows: Mapping[str, object]
    cause: str
    repair: str

    @property
    def severity(self) -> str:
        """``error`` or ``notice``."""
        return SEVERITIES[self.code]
