"""The routes under ``/insight``: they have no microversion of their own.

Without ``OpenStack-API-Version``, a query is read at the newest microversion, and errors are
written as the newest has them. Documents have a ``version`` of their own and only gain fields.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Final

import webob

from placement.wsgi_wrapper import HandlerFunction, Request

PREFIX: Final = "/insight"


def _imported(module: str, name: str) -> HandlerFunction:
    """Return a handler whose module is imported by the first request.

    Few processes serve requests of operators, and 41 modules would be 40 ms of each start.
    """

    def handler(request: Request) -> webob.Response:
        function: HandlerFunction = getattr(import_module(f"{__package__}.{module}"), name)
        return function(request)

    handler.__name__ = name
    return handler


DECLARATIONS: Mapping[str, Mapping[str, HandlerFunction]] = {
    PREFIX: {"GET": _imported("overview", "show_insight")},
    f"{PREFIX}/explanation": {"GET": _imported("explanation", "explain_candidates")},
    f"{PREFIX}/providers": {"GET": _imported("providers", "list_providers")},
    f"{PREFIX}/requests": {"GET": _imported("requests", "list_requests")},
    f"{PREFIX}/requests/{{request_id}}": {"GET": _imported("requests", "show_request")},
    f"{PREFIX}/capacity": {"GET": _imported("capacity", "show_capacity")},
    f"{PREFIX}/consumers": {"GET": _imported("consumers", "list_consumers")},
    f"{PREFIX}/findings": {"GET": _imported("findings", "list_findings")},
    f"{PREFIX}/identity": {"GET": _imported("identity", "show_identity")},
    f"{PREFIX}/permissions": {"GET": _imported("permissions", "show_permissions")},
}


def is_below(path: str) -> bool:
    """Return whether the path is one of this surface.

    >>> is_below("/insight/explanation"), is_below("/insights")
    (True, False)
    """
    return path == PREFIX or path.startswith(f"{PREFIX}/")
