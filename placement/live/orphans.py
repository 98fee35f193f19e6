"""Judges the orphans of an audit before anything is planned: are they plausible, and confirmed?"""

from collections.abc import Callable, Sequence
from typing import Any

from placement.core.insight.finding import Finding
from placement.core.insight.live import MIGRATION
from placement.core.insight.orphans import ORPHANED
from placement.live.source import check_plausible
from placement.live.text import InvalidList


def connection_to(cloud: str | None) -> Callable[[], Any]:
    """Return a function that returns a connection of openstacksdk.

    ``cloud`` is its name in clouds.yaml; None uses the variables ``OS_*``.
    """

    def connect() -> Any:
        try:
            import openstack  # noqa: PLC0415 - an extra
            from keystoneauth1.exceptions import ClientException  # noqa: PLC0415
            from openstack.exceptions import SDKException  # noqa: PLC0415
        except ImportError as error:
            raise InvalidList(
                "The source nova needs openstacksdk, which is not installed: install the extra "
                "cli of openplacement, or name a file."
            ) from error
        try:
            return openstack.connect(cloud=cloud)
        except (SDKException, ClientException) as error:
            raise InvalidList(f"There is no connection to nova: {error}") from error

    return connect


def checked(findings: Sequence[Finding], compared: int, *, accept_many: bool) -> Sequence[Finding]:
    """Return the findings if their number is plausible.  Raises: InvalidList."""
    count = sum(finding.code == ORPHANED for finding in findings)
    check_plausible(count, compared, accept_many=accept_many)
    return findings


def confirmed(findings: Sequence[Finding], connect: Callable[[], Any]) -> Sequence[Finding]:
    """Return the findings without the orphans that nova knows when asked for each of them.

    Nova has no request for a single migration by its UUID: these are not confirmed.
    Raises: InvalidList.
    """
    from placement.live.nova import Confirmation  # noqa: PLC0415 - openstacksdk is an extra

    suspects = [
        str(finding.rows["consumer"])
        for finding in findings
        if finding.code == ORPHANED and finding.rows["type"] != MIGRATION
    ]
    alive = set(suspects) - Confirmation(connect()).missing(suspects) if suspects else set()
    return [
        finding
        for finding in findings
        if finding.code != ORPHANED or finding.rows["consumer"] not in alive
    ]
