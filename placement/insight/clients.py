"""``GET /insight/clients``: the microversions that clients send, counted since the start.

The counters are metrics: the document covers all processes of one API host, and is empty unless
[metrics]enabled is set.
"""

import socket

import webob

from placement import microversion
from placement.events import CLIENT_REQUESTS, MIXED_CONSUMERS, Total
from placement.http.request import Request, accepts_json, json_response
from placement.insight import queries
from placement.insight.documents import document
from placement.microversion import Version
from placement.policies import insight as policies


def _order(total: Total) -> tuple[str, Version]:
    """Return the key by which the numbers of requests are listed."""
    labels, _ = total
    return labels["client"], microversion.parse(labels["microversion"])


@accepts_json
def list_clients(request: Request) -> webob.Response:
    """Return the number of requests of each client at each microversion."""
    request.context.can(policies.CLIENTS)
    queries.nothing(request.query_pairs, request.version)
    totals = request.services.totals
    clients = [] if totals is None else totals(CLIENT_REQUESTS)
    mixed = [] if totals is None else totals(MIXED_CONSUMERS)
    body = document(
        enabled=totals is not None,
        host=socket.gethostname(),
        clients=[{**labels, "requests": count} for labels, count in sorted(clients, key=_order)],
        mixed_consumers=[{**labels, "consumers": count} for labels, count in mixed],
    )
    return json_response(request, body)
