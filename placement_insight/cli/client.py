"""Requests of ``openstack`` commands to the routes under ``/insight``, by osc-placement."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from keystoneauth1.exceptions import (
    CatalogException,
    ClientException,
    ConnectionError,  # noqa: A004
    ServiceUnavailable,
    SSLError,
    Unauthorized,
)
from osc_lib import exceptions
from osc_lib.exceptions import CommandError
from osc_lib.shell import OpenStackShell
from osc_placement import version

from placement.core.text import printable
from placement.microversion import UNVERSIONED
from placement_insight.documents import Response
from placement_insight.names import option

_MISSING = ("", exceptions.NotFound.message, "The resource could not be found.")
"""The messages for an unknown path: of this service, of osc-lib, and of upstream."""

_ADVICE: Final = (
    (SSLError, "Name a file with the CA certificates of the service: --os-cacert, or OS_CACERT."),
    (
        Unauthorized,
        "The service does not accept the token. Check --os-token, or the credentials: "
        "openstack token issue.",
    ),
)
_OTHERWISE: Final = (
    "Check that the service runs and is this implementation of Placement, not older than this "
    "command, and that the endpoint has the right path: --os-endpoint, or the catalog."
)
_MOST_RETRIES: Final = 3
_LONGEST_SECONDS: Final = 10  # of Retry-After; maintenance takes longer

Query = Mapping[str, object] | Sequence[tuple[str, object]]


def program(app: OpenStackShell) -> str:
    """Return ``openstack`` with the options in use that select the cloud, for other commands."""
    words = ["openstack"]
    for name in ("--os-cloud", "--os-region-name", "--os-interface"):
        variable = name.removeprefix("--").replace("-", "_")
        value = getattr(app.options, variable.removeprefix("os_"))
        if value and value != os.environ.get(variable.upper()):
            words.append(option(name, value))
    return " ".join(words)


def get(app: OpenStackShell, path: str, query: Query = ()) -> Response:
    """Return the document at a path below ``/insight``.

    A query is read at ``--os-placement-api-version`` if one is given, else at the newest: the
    version that the client negotiates is older.

    Raises: CommandError if the service does not have the route or something else responded, and
    the errors of osc-placement for error responses.
    """
    url = f"{UNVERSIONED}{path}" + (f"?{urlencode(query)}" if query else "")
    return _document(app, "GET", url)


def post(app: OpenStackShell, path: str, body: Mapping[str, object]) -> Response:
    """Return the document in response to a body.  See ``get``."""
    return _document(app, "POST", f"{UNVERSIONED}{path}", json=body)


def _document(app: OpenStackShell, method: str, url: str, **parameters: object) -> Response:
    requested_version = app.api_version["placement"]
    newest = requested_version in version.NEGOTIATE_VERSIONS
    try:
        manager: Any = app.client_manager  # plugins add their clients as attributes
        client = manager.placement  # it may negotiate the version
        if newest:
            parameters["version"] = "latest"
        response = retried(lambda: client.request(method, url, **parameters))
        return dict(response.json())
    except exceptions.NotFound as error:
        if error.message not in _MISSING:
            raise
        raise failure(f"{method} {url}", error) from error
    except (ConnectionError, CatalogException, ValueError, LookupError, TypeError) as error:
        # Keystone's middleware, a proxy or another program responded, or nothing
        raise failure(f"{method} {url}", _cause(error)) from error


def retried(send: Callable[[], Any]) -> Any:
    """Return the response; while the service is busy, send the request again, at most 3 times.

    The pause after the second and third refusal is longer than Retry-After.
    """
    for attempt in range(_MOST_RETRIES):
        try:
            return send()
        except ServiceUnavailable as error:
            headers = {} if error.response is None else error.response.headers
            seconds = headers.get("Retry-After", "")
            if not (seconds.isdecimal() and int(seconds) <= _LONGEST_SECONDS):
                raise
            time.sleep(3**attempt * int(seconds))
    return send()


def consumers(app: OpenStackShell, query: Mapping[str, object]) -> Iterator[Response]:
    """Yield all consumers that a query describes, page by page.  Raises: see ``get``."""
    marker: Mapping[str, str] = {}
    while True:
        document = get(app, "/consumers", {**query, **marker})
        yield from document["consumers"]
        if not document["next"]:
            return
        marker = {"marker": document["next"]}


def _cause(error: BaseException) -> BaseException:
    """Return the HTTP error that was handled when the error occurred."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ClientException):
        cause = cause.__context__
    return cause or error


def failure(request: str, cause: object) -> CommandError:
    """Return the error of a request without a document in response; it is a method and a URL."""
    advice = next((text for kind, text in _ADVICE if isinstance(cause, kind)), _OTHERWISE)
    reason = printable(str(cause)).strip().rstrip(".")
    return CommandError(f"{request.partition('?')[0]} failed: {reason}. {advice}")
