"""The routes under ``/insight``: they have no microversion of their own.

Without ``OpenStack-API-Version``, a query is read at the newest microversion, and errors are
written as the newest has them. Documents have a ``version`` of their own and only gain fields.
"""

from collections.abc import Mapping
from typing import Final

from placement.handlers.insight import (
    capacity,
    consumers,
    explanation,
    findings,
    identity,
    overview,
    permissions,
    providers,
    requests,
)
from placement.wsgi_wrapper import HandlerFunction

PREFIX: Final = "/insight"

DECLARATIONS: Mapping[str, Mapping[str, HandlerFunction]] = {
    PREFIX: {"GET": overview.show_insight},
    f"{PREFIX}/explanation": {"GET": explanation.explain_candidates},
    f"{PREFIX}/providers": {"GET": providers.list_providers},
    f"{PREFIX}/requests": {"GET": requests.list_requests},
    f"{PREFIX}/requests/{{request_id}}": {"GET": requests.show_request},
    f"{PREFIX}/capacity": {"GET": capacity.show_capacity},
    f"{PREFIX}/consumers": {"GET": consumers.list_consumers},
    f"{PREFIX}/findings": {"GET": findings.list_findings},
    f"{PREFIX}/identity": {"GET": identity.show_identity},
    f"{PREFIX}/permissions": {"GET": permissions.show_permissions},
}


def is_below(path: str) -> bool:
    """Return whether the path is one of this surface.

    >>> is_below("/insight/explanation"), is_below("/insights")
    (True, False)
    """
    return path == PREFIX or path.startswith(f"{PREFIX}/")
