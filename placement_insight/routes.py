"""The routes under ``/insight``, which do not depend on microversions.

Without ``OpenStack-API-Version``, queries are parsed and errors are written at the newest
microversion. Documents have a separate ``version``. Later releases only add fields.

The numbers of ``GET /insight/clients`` are metrics: they cover all processes of one API host, and
are empty unless [metrics]enabled is set.
"""

import socket
from collections.abc import Mapping
from importlib import metadata

import webob

from placement import microversion
from placement.core.text import timestamp
from placement.events import CLIENT_REQUESTS, CUT_RESPONSES, REQUESTS, ROOTS_LEFT_OUT, Total
from placement.http.request import HandlerFunction, Request, accepts_json
from placement.http.response import json_response
from placement.microversion import UNVERSIONED, Version
from placement_insight import http, policies, queries
from placement_insight.audit.http import list_consumers, list_findings, show_identity
from placement_insight.documents import document
from placement_insight.explain.http import explain_candidates
from placement_insight.explain.records.http import list_requests, show_request, summarize_requests
from placement_insight.explain.records.reports import reports_of
from placement_insight.history.http import list_changes
from placement_insight.page.feed.http import list_providers
from placement_insight.plan.capacity.http import show_capacity
from placement_insight.plan.http import plan_drain, plan_survival, show_drain, show_survival
from placement_insight.plan.room_http import make_room
from placement_insight.top import list_top

_COUNTED = (CLIENT_REQUESTS, REQUESTS, CUT_RESPONSES, ROOTS_LEFT_OUT)
_CANDIDATES = {"method": "GET", "route": "/allocation_candidates", "status": "200"}


def _order(total: Total) -> tuple[str, Version]:
    labels, _ = total
    return labels["client"], microversion.parse(labels["microversion"])


@accepts_json
def list_clients(request: Request) -> webob.Response:
    """Return the requests of each client at each microversion, and how many a limit cut."""
    request.can(policies.CLIENTS)
    queries.nothing(request)
    totals = request.services.observer.totals(*_COUNTED)
    clients, requests, cut, left_out = ((totals or {}).get(each, ()) for each in _COUNTED)
    body = document(
        enabled=totals is not None,
        host=socket.gethostname(),
        clients=[{**labels, "requests": count} for labels, count in sorted(clients, key=_order)],
        candidates={
            "responses": sum(count for labels, count in requests if labels == _CANDIDATES),
            "limited": sum(count for _, count in cut),
            "roots_left_out": sum(count for _, count in left_out),
        },
    )
    return json_response(request, body)


@accepts_json
def show_insight(request: Request) -> webob.Response:
    """Return the release, the enabled features, and the size and age of the snapshot."""
    request.can(policies.SHOW)
    queries.nothing(request)
    enabled = {"record": reports_of(request).is_recording}
    return http.from_snapshot(
        request,
        lambda view: document(
            release=metadata.version("openplacement"),
            enabled=enabled,
            snapshot={
                "providers": view.snapshot.size,
                "roots": int(view.snapshot.forest.is_root.sum()),
            },
            last_write_seen=timestamp(view.refreshed_at),
        ),
    )


DECLARATIONS: Mapping[str, Mapping[str, HandlerFunction]] = {
    UNVERSIONED: {"GET": show_insight},
    f"{UNVERSIONED}/explanation": {"GET": explain_candidates},
    f"{UNVERSIONED}/providers": {"GET": list_providers},
    f"{UNVERSIONED}/top": {"GET": list_top},
    f"{UNVERSIONED}/requests": {"GET": list_requests},
    f"{UNVERSIONED}/requests/summary": {"GET": summarize_requests},
    f"{UNVERSIONED}/requests/{{request_id}}": {"GET": show_request},
    f"{UNVERSIONED}/capacity": {"GET": show_capacity},
    f"{UNVERSIONED}/consumers": {"GET": list_consumers},
    f"{UNVERSIONED}/findings": {"GET": list_findings},
    f"{UNVERSIONED}/identity": {"GET": show_identity},
    f"{UNVERSIONED}/changes": {"GET": list_changes},
    f"{UNVERSIONED}/clients": {"GET": list_clients},
    f"{UNVERSIONED}/drain": {"GET": show_drain, "POST": plan_drain},
    f"{UNVERSIONED}/survival": {"GET": show_survival, "POST": plan_survival},
    f"{UNVERSIONED}/room": {"POST": make_room},
}
