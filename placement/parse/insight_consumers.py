"""The query of ``GET /insight/consumers``."""

from placement.core.insight.consumers import ConsumerFilter
from placement.microversion import Version
from placement.parse import insight, query
from placement.schemas import insight_cloud

_VALIDATORS = query.validators(insight_cloud.CONSUMERS_QUERY)
_LIMIT = 1000


def consumer_filter(pairs: query.QueryPairs, version: Version) -> ConsumerFilter:
    """Return which consumers a query asks for.  Raises: BadRequest."""
    query.check(_VALIDATORS, pairs, version)
    values = query.effective(pairs)
    return ConsumerFilter(
        project_id=values.get("project_id"),
        user_id=values.get("user_id"),
        type=values.get("type"),
        provider=values["provider"].lower() if "provider" in values else None,
        in_tree=values["in_tree"].lower() if "in_tree" in values else None,
        created_before=(
            insight.time("older_than", values["older_than"]) if "older_than" in values else None
        ),
        marker=values.get("marker"),
        limit=int(values.get("limit", _LIMIT)),
    )
