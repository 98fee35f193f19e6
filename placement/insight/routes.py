"""The routes under ``/insight``, which do not depend on microversions.

Without ``OpenStack-API-Version``, queries are parsed and errors are written at the newest
microversion. Documents have a separate ``version``. Later releases only add fields.
"""

from collections.abc import Mapping
from datetime import datetime
from importlib import metadata
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
from placement.insight.clients import list_clients
from placement.insight.consumers.http import list_consumers
from placement.insight.documents import document
from placement.insight.explanation.http import explain_candidates
from placement.insight.feed.http import list_providers
from placement.insight.identity.http import show_identity
from placement.insight.permissions.http import show_permissions
from placement.insight.recording.http import list_requests, show_request, summarize_requests
from placement.policies import insight as policies

PREFIX: Final = "/insight"


def overview(snapshot: Snapshot, refreshed_at: datetime, *, enabled: Mapping[str, bool]) -> bytes:
    """Return the body of the overview.  Cost: one pass over the mask of roots."""
    return document(
        release=metadata.version("openplacement"),
        enabled=enabled,
        snapshot={"providers": len(snapshot), "roots": int(snapshot.forest.is_root.sum())},
        last_write_seen=timestamp(refreshed_at),
    )


@accepts_json
def show_insight(request: Request) -> webob.Response:
    """Return the release, the enabled features, and the size and age of the snapshot."""
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
    f"{PREFIX}/requests/summary": {"GET": summarize_requests},
    f"{PREFIX}/requests/{{request_id}}": {"GET": show_request},
    f"{PREFIX}/capacity": {"GET": show_capacity},
    f"{PREFIX}/consumers": {"GET": list_consumers},
    f"{PREFIX}/findings": {"GET": list_findings},
    f"{PREFIX}/identity": {"GET": show_identity},
    f"{PREFIX}/clients": {"GET": list_clients},
    f"{PREFIX}/permissions": {"GET": show_permissions},
}
