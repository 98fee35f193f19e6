"""The routes under ``/insight``: they have no microversion of their own.

Without ``OpenStack-API-Version``, a query is read at the newest microversion, and errors are
written as the newest has them. Documents have a ``version`` of their own and only gain fields.

"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import webob

from placement.core.snapshot.snapshot import Snapshot
from placement.core.text import timestamp
from placement.engine.engine import View
from placement.http.request import HandlerFunction, Request, accepts_json
from placement.insight import http
from placement.insight import queries as parse
from placement.insight.audit.http import list_findings
from placement.insight.capacity.http import show_capacity
from placement.insight.consumers.http import list_consumers
from placement.insight.documents import document
from placement.insight.explanation.http import explain_candidates
from placement.insight.feed.http import list_providers
from placement.insight.identity.http import show_identity
from placement.insight.permissions.http import show_permissions
from placement.insight.recording.http import list_requests, show_request
from placement.policies import insight as policies

PREFIX: Final = "/insight"


def is_below(path: str) -> bool:
    """Return whether the path is one of this surface.

    >>> is_below("/insight/explanation"), is_below("/insights")
    (True, False)
    """
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def overview(snapshot: Snapshot, refreshed_at: datetime, *, enabled: Mapping[str, bool]) -> bytes:
    """Return the body of what the surface offers.  Cost: one pass over the roots' mask."""
    return document(
        enabled=enabled,
        snapshot={"providers": len(snapshot), "roots": int(snapshot.forest.is_root.sum())},
        last_write_seen=timestamp(refreshed_at),
    )


@accepts_json
def show_insight(request: Request) -> webob.Response:
    """Return the version, what is enabled, and the size and age of the snapshot."""
    request.context.can(policies.SHOW)
    parse.nothing(request.query_pairs, request.version)
    enabled = {"record": request.services.reports.is_recording}

    def write(view: View) -> bytes:
        return overview(view.snapshot, view.refreshed_at, enabled=enabled)

    return http.from_snapshot(request, write)


DECLARATIONS: Mapping[str, Mapping[str, HandlerFunction]] = {
    PREFIX: {"GET": show_insight},
    f"{PREFIX}/explanation": {"GET": explain_candidates},
    f"{PREFIX}/providers": {"GET": list_providers},
    f"{PREFIX}/requests": {"GET": list_requests},
    f"{PREFIX}/requests/{{request_id}}": {"GET": show_request},
    f"{PREFIX}/capacity": {"GET": show_capacity},
    f"{PREFIX}/consumers": {"GET": list_consumers},
    f"{PREFIX}/findings": {"GET": list_findings},
    f"{PREFIX}/identity": {"GET": show_identity},
    f"{PREFIX}/permissions": {"GET": show_permissions},
}
