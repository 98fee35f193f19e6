"""The query of ``GET /insight/requests``."""

from placement.core.insight.recorded import LARGEST_ID, RecordedFilter
from placement.microversion import Version
from placement.parse import query
from placement.parse.insight import time
from placement.schemas import insight

_REQUESTS = query.validators(insight.REQUESTS_QUERY)
_LIMIT = 100


def recorded_filter(pairs: query.QueryPairs, version: Version) -> RecordedFilter:
    """Return which recorded requests a query asks for.  Raises: BadRequest."""
    query.check(_REQUESTS, pairs, version)
    values = query.effective(pairs)
    return RecordedFilter(
        since=time("since", values["since"]) if "since" in values else None,
        project_id=values.get("project_id"),
        reason=values.get("reason"),
        before=min(int(values["marker"]), LARGEST_ID) if "marker" in values else None,
        limit=int(values.get("limit", _LIMIT)),
    )
