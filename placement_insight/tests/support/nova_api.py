"""A stand-in for nova, glance and keystone: its lists are returned a page at a time."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from placement_insight.tests.support.nova_documents import flavor, image, server

PAGE = 3
NAMES = (
    *("/os-aggregates", "/os-server-groups", "/os-services", "/servers"),
    *("/v3/projects", "/v3/users"),
)
CONSTANT = {
    "/image/v2/images": {
        "images": [image()],
        "schema": "/v2/schemas/images",
        "first": "/v2/images",
    },
}


class NovaApi:
    """What the stand-in returns, and what it was asked for.

    ``shown`` are servers that only a request for each of them finds. ``failures`` has, by the
    number of a request for a list, what the response is instead: a status, or a text as body.
    ``named`` are the lists of names that were requested, ``refused`` their statuses by kind, and
    ``texts`` what is returned instead of them.
    """

    def __init__(self):
        self.servers, self.migrations, self.hypervisors, self.shown = [], [], [], set()
        self.flavors = [flavor()]
        self.aggregates, self.projects, self.users = {}, {}, {}  # names by id
        self.hosts_of_aggregates = {}
        self.services = {}  # by the UUID of the hypervisor; by default, its name
        self.groups = []
        self.unknown = []  # hosts of a cell that is down
        self.down = []  # hosts whose nova-compute is down
        self.current = {}  # servers that have changed since they were listed
        self.failures = {}
        self.refused, self.texts, self.named = {}, {}, []
        self.newest = "2.96"
        self.lists = []
        self.shows = []
        self.token_status = 201
        self.token_id = "token"
        self.url = ""
        self.placement_url = ""  # by default a path of this server that it does not serve

    def respond(self, path, query, version):
        """Return a status and a document or text."""
        if path.startswith("/servers/") and path != "/servers/detail":
            return self.show(path.rpartition("/")[2])
        if path in CONSTANT:
            return 200, CONSTANT[path]
        if path == "/flavors/detail":
            return 200, self.page("flavors", "id", self.flavors, query)
        if path in NAMES:
            return self.names(path.rpartition("/")[2], query, version)
        if path.startswith("/os-hypervisors/"):
            return self.show_hypervisor(path.rpartition("/")[2])
        return self.list(path, query, version)

    def list(self, path, query, version):
        self.lists.append((path, query, version))
        failure = self.failures.get(len(self.lists))
        if isinstance(failure, int):
            return failure, {"error": {"code": failure, "message": f"Refused with {failure}."}}
        if failure is not None:
            return 200, failure
        if path == "/os-hypervisors" and any(
            row.get("status") == "UNKNOWN" for row in self.servers
        ):
            return 500, {"computeFault": {"code": 500, "message": "Unexpected API Error."}}
        if path == "/servers/detail":
            assert query["all_tenants"] in (["1"], ["True"])  # the latter from openstacksdk
        key, marker, rows = self.listed(path)
        return 200, self.page(key, marker, rows, query)

    def listed(self, path):
        """Return the key of a list in its document, the name of its marker, and its rows."""
        return {
            "/servers/detail": ("servers", "id", self.servers),
            "/os-migrations": ("migrations", "uuid", self.migrations),
            "/os-hypervisors": ("hypervisors", "id", self.hypervisors),
        }[path]

    def show(self, uuid):
        self.shows.append(uuid)
        listed = {each["id"]: each for each in self.servers}
        if uuid in listed.keys() | self.shown:
            return 200, {"server": self.current.get(uuid) or listed.get(uuid) or server(uuid)}
        return 404, {"itemNotFound": {"code": 404, "message": f"Instance {uuid} not found."}}

    def show_hypervisor(self, uuid):
        if status := self.refused.get("os-hypervisors"):
            return status, {"error": {"code": status, "message": f"Refused with {status}."}}
        (listed,) = (each for each in self.hypervisors if each["id"] == uuid)
        service = self.services.get(uuid, listed["hypervisor_hostname"])
        host = {"host": service, "id": 7, "disabled_reason": None}
        return 200, {"hypervisor": {**listed, "service": host}}

    def names(self, kind, query, version):
        """Return a list of names."""
        self.named.append(kind)
        if status := self.refused.get(kind):
            return status, {"error": {"code": status, "message": f"Refused with {status}."}}
        if kind in self.texts:
            return 200, self.texts[kind]
        if kind == "os-aggregates":
            assert version == "2.41"
            rows = [
                {"uuid": uuid, "name": name, "hosts": self.hosts_of_aggregates.get(uuid, [])}
                for uuid, name in self.aggregates.items()
            ]
            return 200, {"aggregates": rows}
        if kind == "os-server-groups":
            assert version == "2.64"
            offset = int(query.get("offset", ["0"])[0])
            return 200, {"server_groups": self.groups[offset : offset + PAGE]}
        of_keystone = {"projects": self.projects, "users": self.users}
        if kind == "os-services" or kind in of_keystone:
            assert kind in of_keystone or (version, query["binary"]) == ("2.69", ["nova-compute"])
            services = [{"host": each, "status": "UNKNOWN"} for each in self.unknown]
            services.append({"host": "cn9", "status": "enabled"})
            down = {"status": "enabled", "state": "down"}
            services += [{"host": each, **down} for each in self.down]
            names = of_keystone.get(kind, {})
            rows = [{"id": id_, "name": name} for id_, name in names.items()]
            return 200, {kind: rows, "services": services, "links": {"next": None}}
        assert query["all_tenants"] == ["1"]
        only, states = query.get("uuid", []), query.get("status", [])
        rows = [
            {"id": each["id"], "name": each["name"]}
            for each in self.servers
            if (not only or each["id"] in only) and (not states or each["status"] in states)
        ]
        return 200, self.page("servers", "id", rows, query)

    def page(self, key, marker_name, rows, query):
        markers = [each[marker_name] for each in rows]
        start = markers.index(query["marker"][0]) + 1 if "marker" in query else 0
        page = rows[start : start + PAGE]
        links = [{"rel": "next", "href": "..."}] if rows[start + PAGE :] else []
        return {key: page, **({f"{key}_links": links} if links else {})}

    def credentials(self):
        """Return the options of ``openstack`` for an operator."""
        options = {
            "auth-url": f"{self.url}/v3",
            "username": "operator",
            "password": "secret",
            "project-name": "admin",
            "user-domain-id": "default",
            "project-domain-id": "default",
            "region-name": "R",
        }
        return [f"--os-{name}={text}" for name, text in options.items()]

    def token(self):
        placement_url = self.placement_url or f"{self.url}/placement"
        endpoint = {"interface": "public", "region": "R", "region_id": "R", "url": self.url}
        return {
            "token": {
                "methods": ["password"],
                "user": {"id": "u", "name": "u", "domain": {"id": "default", "name": "D"}},
                "project": {"id": "p", "name": "p", "domain": {"id": "default", "name": "D"}},
                "roles": [{"id": "r", "name": "admin"}],
                "expires_at": "2999-01-01T00:00:00.000000Z",
                "issued_at": "2020-01-01T00:00:00.000000Z",
                "catalog": [
                    {
                        "type": "compute",
                        "name": "nova",
                        "id": "c",
                        "endpoints": [{**endpoint, "id": "e", "url": f"{self.url}/v2.1"}],
                    },
                    {
                        "type": "identity",
                        "name": "keystone",
                        "id": "i",
                        "endpoints": [{**endpoint, "id": "k", "url": f"{self.url}/v3"}],
                    },
                    {
                        "type": "image",
                        "name": "glance",
                        "id": "g",
                        "endpoints": [{**endpoint, "id": "h", "url": f"{self.url}/image"}],
                    },
                    {
                        "type": "placement",
                        "name": "placement",
                        "id": "d",
                        "endpoints": [{**endpoint, "id": "f", "url": placement_url}],
                    },
                ],
            }
        }


class Handler(BaseHTTPRequestHandler):
    """Serves ``api``: a subclass has it."""

    protocol_version = "HTTP/1.1"
    api: NovaApi

    def log_message(self, *arguments):
        pass

    def send(self, status, document, **headers):
        text = document if isinstance(document, str) else json.dumps(document)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        status = self.api.token_status
        if status == 201:
            self.send(201, self.api.token(), X_Subject_Token=self.api.token_id)
        else:
            message = "The request you have made requires authentication."
            error = {"code": status, "message": message, "title": "Unauthorized"}
            self.send(status, {"error": error})

    def do_GET(self):
        parts = urlsplit(self.path)
        path = parts.path.removeprefix("/v2.1")
        if path.rstrip("/") == "/image":
            return self.send(300, self.versions_of_glance())
        if path.strip("/") in ("", "v3"):
            return self.send(200, self.versions(of_nova=self.path.startswith("/v2.1")))
        version = self.headers.get("OpenStack-API-Version", "").removeprefix("compute ")
        if _number(version) > _number(self.api.newest):
            message = f"Version {version} is not supported by the API."
            return self.send(406, {"computeFault": {"code": 406, "message": message}})
        return self.send(*self.api.respond(path, parse_qs(parts.query), version))

    def versions(self, *, of_nova):
        path = "v2.1" if of_nova else "v3"
        links = [{"rel": "self", "href": f"{self.api.url}/{path}/"}]
        if of_nova:
            ends = {"version": self.api.newest, "min_version": "2.1"}
            return {"version": {"id": "v2.1", "status": "CURRENT", "links": links, **ends}}
        return {"version": {"id": "v3.14", "status": "stable", "links": links}}

    def versions_of_glance(self):
        link = {"rel": "self", "href": f"{self.api.url}/image/v2/"}
        return {"versions": [{"id": "v2.16", "status": "CURRENT", "links": [link]}]}


def _number(version):
    return [int(each) for each in version.split(".") if each]


@contextmanager
def nova_api():
    """A stand-in that listens on a port of its own."""
    api = NovaApi()
    handler = type("OfApi", (Handler,), {"api": api})
    listener = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=listener.serve_forever, args=(0.05,))
    thread.start()
    api.url = f"http://127.0.0.1:{listener.server_port}"
    try:
        yield api
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()
