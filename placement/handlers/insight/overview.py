"""``GET /insight``: what this surface offers, and what the snapshot holds."""

import webob

from placement.engine.engine import View
from placement.handlers.insight import conditional
from placement.parse import insight as parse
from placement.policies import insight as policies
from placement.render import insight_overview as render
from placement.wsgi_wrapper import Request, accepts_json


@accepts_json
def show_insight(request: Request) -> webob.Response:
    """Return the version, what is enabled, and the size and age of the snapshot."""
    request.context.can(policies.SHOW)
    parse.nothing(request.query_pairs, request.version)
    enabled = {"record": request.services.reports.is_recording}

    def write(view: View) -> bytes:
        return render.overview(view.snapshot, view.refreshed_at, enabled=enabled)

    return conditional.from_snapshot(request, write)
