"""``/``: the versions document."""

import json

import webob

from placement import microversion
from placement.http.request import Request
from placement.http.response import json_response

_DOCUMENT = json.dumps(
    {
        "versions": [
            {
                "id": "v1.0",
                "max_version": str(microversion.MAX_VERSION),
                "min_version": str(microversion.MIN_VERSION),
                "status": "CURRENT",
                # relative: clients resolve it against the URL of the document
                "links": [{"rel": "self", "href": ""}],
            }
        ]
    }
).encode()


def show(request: Request) -> webob.Response:
    """Return the versions document, which needs no authentication."""
    return json_response(request, _DOCUMENT, modified_at=None)
