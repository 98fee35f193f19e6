"""Requests to the routes under ``/insight``, with the session of osc-placement."""

from typing import Any

from osc_placement import version


def get(app: Any, url: str) -> Any:
    """Return the document at a URL.

    A query is read at ``--os-placement-api-version`` if one is given, else at the newest: the
    version that the client negotiates is older.

    Raises: what osc-placement raises for an error of the service.
    """
    manager = app.client_manager
    asked = manager._api_version["placement"]
    newest = asked in version.NEGOTIATE_VERSIONS
    client = manager.placement
    response = client.request("GET", url, **({"version": "latest"} if newest else {}))
    return response.json()
