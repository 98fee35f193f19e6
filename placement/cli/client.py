"""Requests to the routes under ``/insight``, with the session of osc-placement."""

from typing import Any

from keystoneauth1.exceptions import ClientException, ConnectionError  # noqa: A004
from osc_lib import exceptions
from osc_placement import version

_MISSING = ("", exceptions.NotFound.message, "The resource could not be found.")
"""The messages for an unknown path: of this service, of osc-lib, and of upstream."""


def get(app: Any, url: str) -> Any:
    """Return the document at a URL.

    A query is read at ``--os-placement-api-version`` if one is given, else at the newest: the
    version that the client negotiates is older.

    Raises: CommandError if the service does not have the route or something else responded, and
    what osc-placement raises for an error of the service.
    """
    manager = app.client_manager
    requested_version = manager._api_version["placement"]
    newest = requested_version in version.NEGOTIATE_VERSIONS
    try:
        client = manager.placement  # it may negotiate the version
        response = client.request("GET", url, **({"version": "latest"} if newest else {}))
    except exceptions.NotFound as error:
        if error.message not in _MISSING:
            raise
        raise exceptions.CommandError(_missing_route(url)) from error
    except ConnectionError as error:
        raise exceptions.CommandError(
            f"{str(error).rstrip('.')}. Check that the service runs, and the endpoint: "
            "--os-endpoint, or the one in the catalog."
        ) from error
    except (ValueError, LookupError, TypeError) as error:
        # osc-placement found no error document: Keystone's middleware or a proxy responded
        raise exceptions.CommandError(
            f"GET {url.partition('?')[0]} failed: {_cause(error)}. Check the token, "
            "and the endpoint in the catalog."
        ) from error
    return response.json()


def _cause(error: BaseException) -> BaseException:
    """Return the HTTP error that was handled when the error occurred."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ClientException):
        cause = cause.__context__
    return cause or error


def _missing_route(url: str) -> str:
    return (
        f"The service has no {url.partition('?')[0]}: it is an older release of this service, or "
        "another implementation of Placement. Upgrade it, or run the command of placement-manage "
        "on an API host."
    )
