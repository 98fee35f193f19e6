"""``/``: which versions of the interface there are."""

import json

import webob

from placement import microversion
from placement.wsgi_wrapper import Request, json_response

_DOCUMENT = json.dumps(
    {
        "versions": [
            {
                "id": "v1.0",
                "max_version": str(microversion.MAX_VERSION),
                "min_version": str(microversion.MIN_VERSION),
                "status": "CURRENT",
                # The place this was found at: clients resolve it against that.
                "links": [{"rel": "self", "href": ""}],
            }
        ]
    }
).encode()


def show(request: Request) -> webob.Response:
    """Return the versions document; it is open to everybody."""
    return json_response(request, _DOCUMENT, modified_at=None)
