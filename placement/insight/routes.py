"""The routes under ``/insight``, which do not depend on microversions.

Without ``OpenStack-API-Version``, queries are parsed and errors are written at the newest
microversion. Documents have a separate ``version``. Later releases only add fields.

The numbers of ``GET /insight/clients`` are metrics: they cover all processes of one API host, and
are empty unless [metrics]enabled is set.
"""

import socket
from collections.abc import Mapping
from importlib import import_module, metadata

import webob

from placement import microversion, policies
from placement.core.text import timestamp
from placement.events import (
    CLIENT_REQUESTS,
    CUT_RESPONSES,
    MIXED_CONSUMERS,
    REQUESTS,
    ROOTS_LEFT_OUT,
    Total,
)
from placement.http.request import HandlerFunction, Request, accepts_json
from placement.http.response import json_response
from placement.insight import http, queries
from placement.insight.documents import document
from placement.microversion import UNVERSIONED, Version

_COUNTED = (CLIENT_REQUESTS, MIXED_CONSUMERS, REQUESTS, CUT_RESPONSES, ROOTS_LEFT_OUT)
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
    clients, mixed, requests, cut, left_out = ((totals or {}).get(each, ()) for each in _COUNTED)
    body = document(
        enabled=totals is not None,
        host=socket.gethostname(),
        clients=[{**labels, "requests": count} for labels, count in sorted(clients, key=_order)],
        mixed_consumers=[{**labels, "consumers": count} for labels, count in mixed],
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
    enabled = {"record": request.services.reports.is_recording}
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


def _imported(module: str, name: str) -> HandlerFunction:
    """Return a handler that its first request imports: all of them are a tenth of a start."""

    def handle(request: Request) -> webob.Response:
        handler: HandlerFunction = getattr(import_module(f"placement.insight.{module}"), name)
        return handler(request)

    return handle


DECLARATIONS: Mapping[str, Mapping[str, HandlerFunction]] = {
    UNVERSIONED: {"GET": show_insight},
    f"{UNVERSIONED}/explanation": {"GET": _imported("explanation.http", "explain_candidates")},
    f"{UNVERSIONED}/providers": {"GET": _imported("feed.http", "list_providers")},
    f"{UNVERSIONED}/requests": {"GET": _imported("recording.http", "list_requests")},
    f"{UNVERSIONED}/requests/summary": {"GET": _imported("recording.http", "summarize_requests")},
    f"{UNVERSIONED}/requests/{{request_id}}": {"GET": _imported("recording.http", "show_request")},
    f"{UNVERSIONED}/capacity": {"GET": _imported("capacity.http", "show_capacity")},
    f"{UNVERSIONED}/consumers": {"GET": _imported("consumers.http", "list_consumers")},
    f"{UNVERSIONED}/findings": {"GET": _imported("audit.http", "list_findings")},
    f"{UNVERSIONED}/identity": {"GET": _imported("identity.http", "show_identity")},
    f"{UNVERSIONED}/clients": {"GET": list_clients},
    f"{UNVERSIONED}/permissions": {"GET": _imported("permissions.http", "show_permissions")},
    f"{UNVERSIONED}/drain": {
        "GET": _imported("whatif.http", "plan_drain"),
        "POST": _imported("whatif.http", "plan_drain_with_groups"),
    },
    f"{UNVERSIONED}/survival": {"GET": _imported("whatif.http", "show_survival")},
    f"{UNVERSIONED}/room": {"POST": _imported("whatif.room_http", "make_room")},
}
