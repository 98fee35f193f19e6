"""Names for the UUIDs that commands show, and UUIDs for the names in their options.

The names of providers are read from the service. The names of aggregates, servers and projects are
read from nova and keystone, with the session of ``openstack``: a list of each, not a request for
each UUID. Commands work without them. If a service is not in the catalog, denies the request or
does not respond within seconds, its names are unknown, and UUIDs are shown without names.
"""

import argparse
import json
import math
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

from placement.core.text import Names, canonical_uuid
from placement_insight.audit.model import ENDED_MIGRATIONS
from placement_insight.cli.client import get
from placement_insight.names import uuid_of, uuids_in

SECONDS: Final = 3.0
"""The longest time to wait for a response of nova or keystone, and to list servers."""
SECONDS_OF_PLANS: Final = 15.0
"""The same for the lists of a plan, which could move migrations without them."""

_NOVA: Final = "compute"
_KEYSTONE: Final = "identity"
_AGGREGATE_UUIDS: Final = "2.41"  # aggregates have UUIDs since this microversion of nova
_MIGRATIONS: Final = "2.59"  # a page at a time since then
_DOWN_CELLS: Final = "2.69"  # the services of cells that are down are listed since then
_MALFORMED = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
_STRICT: Final = frozenset({"affinity", "anti-affinity"})
_PAGE: Final = 1000
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
        pages = self._pages_of_servers(uuid=wanted if wanted and len(wanted) < 2 else ())
        while (wanted is None or {*wanted} - names.keys()) and (page := next(pages, None)):
            names |= page
        return names

    def servers_in(self, states: Collection[str]) -> Sequence[str]:
        """Return the newest servers in some states, as far as nova lists them in some seconds."""
        pages = self._pages_of_servers(self.seconds, status=states)
        return [uuid for page in pages for uuid in page][:_MOST]

    def _pages_of_servers(
        self, seconds: float = SECONDS, **filters: Collection[str]
    ) -> Iterator[Names]:
        query = urlencode({"all_tenants": "1", **filters}, doseq=True)
        with suppress(ClientException, *_MALFORMED):
            yield from map(_by_id, self._pages(f"/servers?{query}", "servers", seconds=seconds))

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
        path, key = "/os-server-groups?all_projects=1", "server_groups"
        try:
            groups = list(chain.from_iterable(self._pages(path, key, "2.64", by="offset")))
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
        """Return the hosts that are down, or UNKNOWN: the database of their cell is down."""
        with suppress(ClientException, *_MALFORMED):
            return [
                row["host"] for row in self._services if state in {row["status"], row.get("state")}
            ]
        return ()

    @cached_property
    def _services(self) -> Any:
        return self._rows(_NOVA, "/os-services?binary=nova-compute", "services", _DOWN_CELLS)

    @cached_property
    def migrations(self) -> Sequence[str] | None:
        """The migrations that have not ended: nova gives them no consumer type.

        None if nova lists none because of an error.
        """
        found: list[str] = []
        path, key = "/os-migrations?", "migrations"
        try:
            for rows in self._pages(path, key, _MIGRATIONS, by="uuid", seconds=self.seconds):
                found += [row["uuid"] for row in rows if row["status"] not in ENDED_MIGRATIONS]
        except (ClientException, *_MALFORMED):
            return found[:_MOST] or None
        return found[:_MOST]

    @property
    def missing_lists(self) -> Iterator[str]:
        """The sentences about lists of nova that are missing, one for each reason."""
        for reason in dict.fromkeys(self._missing.values()):
            keys = (key.replace("_", " ") for key in self._missing if self._missing[key] == reason)
            yield f"nova did not list its {', '.join(sorted(keys))}: {reason}"

    def _pages(
        self,
        path: str,
        key: str,
        version: str = _AGGREGATE_UUIDS,
        *,
        by: str = "id",
        seconds: float = math.inf,
    ) -> Iterator[Any]:
        """Yield the pages of a list of nova.  Raises: see ``_rows``.

        ``by`` is the field of a row that is the marker of the next page, or "offset".
        """
        end, count, after = time.monotonic() + seconds, 0, ""
        while time.monotonic() < end and (
            rows := self._rows(_NOVA, f"{path}&limit={_PAGE}{after}", key, version)
        ):
            yield rows
            count += len(rows)
            after = f"&offset={count}" if by == "offset" else f"&marker={rows[-1][by]}"

    def _names(self, service: str, path: str, key: str, uuid: str = "id") -> Names:
        """Return the names in a list of a service, empty if the service failed."""
        with suppress(ClientException, *_MALFORMED):
            return _by_id(self._rows(service, path, key), uuid)
        return {}

    def _rows(self, service: str, path: str, key: str, version: str = _AGGREGATE_UUIDS) -> Any:
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
