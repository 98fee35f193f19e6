"""Names for the UUIDs that commands show, and UUIDs for the names in their options.

The names of providers are read from the service. The names of aggregates, servers and projects are
read from nova and keystone, with the session of ``openstack``: a list of each, not a request for
each UUID. Commands work without them. If a service is not in the catalog, denies the request or
does not respond within seconds, its names are unknown, and UUIDs are shown without names.
"""

import argparse
import json
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain
from typing import Any, Final
from urllib.parse import urlencode

from keystoneauth1.exceptions import ClientException, HttpError
from keystoneauth1.session import Session
from osc_lib.exceptions import ClientException as OpenStackException
from osc_lib.exceptions import CommandError
from osc_lib.shell import OpenStackShell

from placement.core.text import Names, canonical_uuid, first
from placement_insight.audit.model import ENDED_MIGRATIONS
from placement_insight.cli.client import get
from placement_insight.documents import Response
from placement_insight.names import uuid_of, uuids_in
from placement_insight.nova_lists import CELL_DOWN, MIGRATIONS, OFFSET, NovaList, pages

SECONDS: Final = 3.0
"""The longest time to wait for a response of nova or keystone, and to list servers."""
SECONDS_OF_PLANS: Final = 15.0
"""The same for the lists of a plan, which could move migrations without them."""

_NOVA: Final = "compute"
_KEYSTONE: Final = "identity"
_AGGREGATE_UUIDS: Final = "2.41"  # aggregates have UUIDs since this microversion of nova
_DOWN_CELLS: Final = "2.69"  # the services of cells that are down are listed since then
_MALFORMED = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
_STRICT: Final = frozenset({"affinity", "anti-affinity"})
_SERVERS: Final = NovaList("/servers", "servers", "id", "2.41")
_ALL_TENANTS: Final = ("all_tenants", "1")
_GROUPS: Final = NovaList("/os-server-groups", "server_groups", OFFSET, "2.64")
_MOST: Final = 5000  # nova lists the newest migrations and servers first
_EMPTY: Final = "''"
_SECONDS_TO_KEEP: Final = 60.0


class CommandNames:
    """The names for one command: each list is read at most once, and only if it is needed.

    Names in nova and keystone are known as far as the user of the session may list them.
    ``failures`` has, by service, why names are unknown. A service that did not respond in
    ``seconds`` is not asked again.
    """

    def __init__(self, app: OpenStackShell) -> None:
        self._app = app
        self._manager: Any = app.client_manager  # plugins add their clients as attributes
        self.seconds = SECONDS
        self.failures: dict[str, str] = {}
        self._missing: dict[str, str] = {}  # the reason for each list
        self._partial: list[str] = []
        self._unresponsive: set[str] = set()

    @cached_property
    def _session(self) -> Session:
        session = self._manager.session
        return Session(
            auth=session.auth, verify=session.verify, cert=session.cert, timeout=SECONDS
        )

    @cached_property
    def aggregates(self) -> Names:
        """The names of all aggregates of nova by UUID."""
        return self._names(_NOVA, "/os-aggregates", "aggregates", "uuid")

    @cached_property
    def projects(self) -> Names:
        """The names of all projects by id."""
        return self._names(_KEYSTONE, "/projects", "projects")

    @cached_property
    def users(self) -> Names:
        """The names of all users by id."""
        return self._names(_KEYSTONE, "/users", "users")

    def servers(self, wanted: Collection[str] | None = None) -> Names:
        """Return names by UUID: of the wanted servers, or of the newest, in some seconds."""
        names: dict[str, str] = {}
        only = wanted if wanted and len(wanted) < 2 else ()
        pages = self._pages(_SERVERS, _ALL_TENANTS, *(("uuid", uuid) for uuid in only))
        end = time.monotonic() + SECONDS
        with suppress(ClientException, *_MALFORMED):
            while (
                time.monotonic() < end
                and (wanted is None or {*wanted} - names.keys())
                and (page := next(pages, None))
            ):
                names |= _by_id(page)
        return names

    def servers_in(self, states: Collection[str]) -> Sequence[str]:
        """Return the newest servers in some states."""
        query = (("status", state) for state in states)
        what = f"servers in {', '.join(states)}"
        return self._newest(_SERVERS, what, _ALL_TENANTS, *query) or ()

    def _newest(
        self, listed: NovaList, what: str, *query: tuple[str, str], ended: Collection[str] = ()
    ) -> Sequence[str] | None:
        """Return the newest consumers in a list of nova that have not ended, within some seconds.

        If there may be others, a sentence says so, and none are None.
        """
        newest: list[str] = []
        end = time.monotonic() + self.seconds
        try:
            for page in self._pages(listed, *query):
                newest += [row[listed.marker] for row in page if row.get("status") not in ended]
                if len(newest) > _MOST or time.monotonic() > end:
                    known = f"of nova's {what}, only the newest {len(newest[:_MOST])} are known"
                    self._partial.append(f"{known}: nova may refuse to move others")
                    return newest[:_MOST] or None
        except (ClientException, *_MALFORMED) as error:
            self._missing.setdefault(listed.key, str(error))
            return newest[:_MOST] or None
        return newest

    def groups_of(self, servers: Collection[str]) -> Sequence[Mapping[str, Any]] | None:
        """Return the ``server_groups`` of some servers, None if they are not known."""
        groups, wanted = self.server_groups, set(servers)
        if groups is None:
            return None
        return [each for each in groups if not wanted.isdisjoint(each["members"])]

    @cached_property
    def server_groups(self) -> Sequence[Mapping[str, Any]] | None:
        """The strict rules of server groups, as ``/insight/drain`` and ``/room`` read them.

        None if nova does not list all server groups to this user.
        """
        try:
            groups = list(chain.from_iterable(self._pages(_GROUPS, ("all_projects", "1"))))
        except (ClientException, *_MALFORMED):
            return None  # a plan with some of the groups would say that it keeps all rules
        return [
            {
                "policy": row["policy"],
                "members": row["members"],
                "max_server_per_host": (row.get("rules") or {}).get("max_server_per_host", 1),
            }
            for row in groups
            if row["policy"] in _STRICT
        ]

    def hosts_in(self, state: str) -> Sequence[str]:
        """Return the hosts that are down, or ``CELL_DOWN``: so is the database of their cell."""
        with suppress(ClientException, *_MALFORMED):
            return [
                row["host"] for row in self._services if state in {row["status"], row.get("state")}
            ]
        return ()

    @cached_property
    def _services(self) -> Sequence[Response]:
        rows = self._rows(_NOVA, "/os-services?binary=nova-compute", "services", _DOWN_CELLS)
        if lost := [row["host"] for row in rows if row["status"] == CELL_DOWN]:
            self._partial.append(
                "nova did not list the servers, migrations and server groups in the cell of "
                f"{first(lost)}: its database is down"
            )
        return rows

    @cached_property
    def migrations(self) -> Sequence[str] | None:
        """The migrations that have not ended: nova gives them no consumer type.

        None if nova lists none because of an error, or not in time.
        """
        return self._newest(MIGRATIONS, "migrations in progress", ended=ENDED_MIGRATIONS)

    @property
    def missing_lists(self) -> Iterator[str]:
        """The sentences about lists of nova that are missing or partial, one for each reason."""
        for reason in dict.fromkeys(self._missing.values()):
            keys = (key.replace("_", " ") for key in self._missing if self._missing[key] == reason)
            yield f"nova did not list its {', '.join(sorted(keys))}: {reason}"
        yield from self._partial

    def _pages(self, listed: NovaList, *query: tuple[str, str]) -> Iterator[Sequence[Response]]:
        """Yield the pages of a list of nova.  Raises: see ``_rows``."""

        def read(position: Mapping[str, str]) -> Sequence[Response]:
            parameters = urlencode([*query, *position.items()])
            return self._rows(_NOVA, f"{listed.path}?{parameters}", listed.key, listed.version)

        return pages(listed, read)

    def _names(self, service: str, path: str, key: str, uuid: str = "id") -> Names:
        """Return the names in a list of a service, empty if the service failed."""
        with suppress(ClientException, *_MALFORMED):
            return _by_id(self._rows(service, path, key), uuid)
        return {}

    def _rows(
        self, service: str, path: str, key: str, version: str = _AGGREGATE_UUIDS
    ) -> Sequence[Response]:
        """Return a list of a service.  Raises: ClientException, one of ``_MALFORMED``."""
        headers = {"OpenStack-API-Version": f"{_NOVA} {version}"}
        try:
            if service in self._unresponsive:
                raise ValueError(self.failures[service])
            url = f"{self._url(service)}{path}"
            rows = self._session.get(url, headers=headers, timeout=self.seconds).json()[key]
            return [{**row} for row in rows]
        except (ClientException, *_MALFORMED) as error:
            self.failures[service] = self._missing[key] = str(error).partition("\n")[0]
            if not isinstance(error, HttpError):  # it may allow another list
                self._unresponsive.add(service)
            raise

    def _url(self, service: str) -> str:
        """Return the URL of a service.  Raises: ClientException, ValueError."""
        version = {"version": (3,)} if service == _KEYSTONE else {}
        endpoint = self._manager.placement.ks_filter
        url = self._session.get_endpoint(**{**endpoint, "service_type": service, **version})
        # With --os-endpoint there is no catalog: each service has this URL.
        if url is None or url == self._session.get_endpoint(**endpoint):
            raise ValueError(f"there is no endpoint of {service} in the catalog")
        return str(url).rstrip("/")

    # --- providers ------------------------------------------------------------------------

    @cached_property
    def _all_providers(self) -> Sequence[Mapping[str, str]]:
        return self._listed({})

    @property
    def providers(self) -> Names:
        """The names of all providers by UUID."""
        return {provider["uuid"]: provider["name"] for provider in self._all_providers}

    def in_query(self, query: str) -> Names:
        """Return the names of the providers and aggregates in a query for candidates."""
        has_uuids = bool(uuids_in(query))
        names: dict[str, str] = {}
        if has_uuids and "member_of" in query:
            names |= self.aggregates
        if has_uuids and "in_tree" in query:
            # the policy may allow explanations, and not the list of providers
            with suppress(CommandError, OpenStackException):
                names |= self.providers
        return names

    def _listed(self, query: Mapping[str, str]) -> Sequence[Mapping[str, str]]:
        query = {**query, "fields": "uuid,name,root_provider_uuid"}
        providers: Sequence[Mapping[str, str]] = get(self._app, "/providers", query)["providers"]
        return providers

    # --- options --------------------------------------------------------------------------

    def provider(self, text: str) -> str:
        """Return the UUID of a provider from its UUID or name.  Raises: UnknownName."""
        if uuid := canonical_uuid(text):
            return uuid
        if text and (equal := self._listed({"name": text})):
            return equal[0]["uuid"]
        roots = {provider["root_provider_uuid"] for provider in self._all_providers}
        return uuid_of(text, self.providers, "provider", roots)

    def aggregate(self, text: str) -> str:
        """Return the UUID of an aggregate from its UUID or name.

        Raises: CommandError, UnknownName.
        """
        if uuid := canonical_uuid(text):
            return uuid
        names = self.aggregates
        failure = self.failures.get(_NOVA)
        if failure and not names:
            raise CommandError(
                f"{text or _EMPTY} is not the UUID of an aggregate, and nova did not list "
                f"the names of aggregates: {failure}"
            )
        return uuid_of(text, names, "aggregate")

    def aggregates_of(self, value: str) -> str:
        """Return a value of ``member_of`` with UUIDs in place of names.

        Raises: CommandError, UnknownName.
        """
        operator = next(text for text in ("!in:", "in:", "!", "") if value.startswith(text))
        texts = value.removeprefix(operator).split(",")
        return operator + ",".join(map(self.aggregate, texts))

    def project(self, text: str) -> str:
        """Return the id of a project from its id or name.

        Without a list of projects, the text is an id. Raises: UnknownName.
        """
        if canonical_uuid(text) or not self.projects or text in self.projects:
            return text
        return uuid_of(text, self.projects, "project")


def _by_id(rows: Iterable[Mapping[str, Any]], uuid: str = "id") -> Names:
    """Return the names in a list by id; rows without text in both are left out."""
    pairs = ((row.get(uuid), row.get("name")) for row in rows)
    return {key: name for key, name in pairs if isinstance(key, str) and isinstance(name, str)}


def resolve_groups(names: CommandNames, arguments: argparse.Namespace) -> None:
    """Replace the names of providers and aggregates in the options of a request by UUIDs."""
    resolve = {
        "--in-tree": names.provider,
        "--member-of": names.aggregates_of,
        "--not-member-of": names.aggregates_of,
    }
    arguments.groups = [
        (suffix, option, resolve.get(option, str)(value))
        for suffix, option, value in arguments.groups or ()
    ]


class NamesDocument:
    """The names of aggregates, projects and servers as JSON, read again after a minute."""

    def __init__(self, app: OpenStackShell) -> None:
        self._app = app
        self._body = b""
        self._read_at = float("-inf")

    def body(self) -> bytes:
        """Return the document: names by UUID for each kind, empty if they are unknown."""
        if time.monotonic() - self._read_at > _SECONDS_TO_KEEP:
            cloud = CommandNames(self._app)
            names = {
                "aggregates": cloud.aggregates,
                "projects": cloud.projects,
                "servers": cloud.servers(),
            }
            self._body, self._read_at = json.dumps(names).encode(), time.monotonic()
        return self._body
