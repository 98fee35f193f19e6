"""Whether the endpoint of Placement in the catalog, or in ``--os-endpoint``, is the right one."""

from typing import Any

from keystoneauth1.exceptions import ClientException


def wrong_endpoint(manager: Any) -> str | None:
    """Return a sentence about an endpoint at which Placement does not respond; None otherwise.

    Placement has a version document at the path of its endpoint, which needs no token. A wrong
    path is a 404, or the page of another program.
    """
    client = manager.placement
    try:
        endpoint = client.session.get_endpoint(**client.ks_filter)
        response = client.session.request(
            "/",
            "GET",
            endpoint_filter=client.ks_filter,
            headers={"Accept": "application/json"},
            raise_exc=False,
        )
    except ClientException:
        return None
    if response.status_code not in {200, 404} or _has_versions(response):
        return None
    service_type = client.ks_filter["service_type"]
    return (
        f"The endpoint {endpoint} of service type {service_type} has no version document (HTTP "
        f"{response.status_code}); is the path right? Check --os-endpoint, or the catalog: "
        f"`openstack endpoint list --service {service_type}`."
    )


def _has_versions(response: Any) -> bool:
    try:
        document = response.json()
    except ValueError:
        return False
    return isinstance(document, dict) and "versions" in document
