"""The ``openstack`` command with the plugin osc-placement, run against a service."""

import atexit
import json
import os
import sys
import threading
import uuid
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

import requests

from placement.tests.support.preloaded import Commands
from placement.tests.support.waiting import SECONDS_OF_COMMANDS, wait_until

AGGREGATE = "5e08ea53-c4c6-448e-9334-ac4953de3cfa"
OPENSTACK = Path(sys.executable).with_name("openstack")


class Client:
    """The ``openstack`` command, with the plugin osc-placement.

    ``url`` is that of the service; ``options`` replace it and the token. Without a ``version``,
    the client negotiates one.
    """

    def __init__(self, url, *options, version="1.39"):
        self.options = [*options] or ["--os-endpoint", url, "--os-token", "admin"]
        self.version = ["--os-placement-api-version", version] if version else []

    def __call__(self, command, *arguments):
        result = self.run(command, *arguments, "-f", "json")
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    def refused(self, command, *arguments):
        result = self.run(command, *arguments)
        assert result.returncode != 0
        return result.stderr

    def recorded(self, **columns):
        """Return the newest recorded request with these columns; responses do not wait for it."""
        found = []

        def find():
            rows = self("allocation request list", "--limit=1000")
            found[:] = [row for row in rows if columns.items() <= row.items()]
            return found

        wait_until(find)
        return found[0]

    def run(self, command, *arguments, stdin=""):
        environ = {name: text for name, text in os.environ.items() if not name.startswith("OS_")}
        return commands().run(
            [str(OPENSTACK), *self.options, *self.version, *command.split(), *map(str, arguments)],
            folder=Path.cwd(),
            environ=environ,
            timeout_seconds=SECONDS_OF_COMMANDS,
            stdin=stdin,
        )


class _Quiet(WSGIRequestHandler):
    def log_message(self, *arguments):
        """Log nothing."""


@contextmanager
def served(application):
    """Serve the application until the end of the block; yield its URL."""
    with make_server("127.0.0.1", 0, application, handler_class=_Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def add_host(url, name, parent=None, traits=(), aggregates=(), **totals):
    """Create a provider by HTTP, which takes a fraction of a command; return its UUID."""
    provider = str(uuid.uuid4())
    _send(
        "POST",
        f"{url}/resource_providers",
        {"name": name, "uuid": provider, "parent_provider_uuid": parent},
    )
    inventories = {resource_class: {"total": total} for resource_class, total in totals.items()}
    documents = {"inventories": inventories, "traits": [*traits], "aggregates": [*aggregates]}
    parts = [(part, document) for part, document in documents.items() if document]
    for generation, (part, document) in enumerate(parts):
        _send(
            "PUT",
            f"{url}/resource_providers/{provider}/{part}",
            {"resource_provider_generation": generation, part: document},
        )
    return provider


def add_claim(url, consumer, amounts, *, project="demo", kind="INSTANCE"):
    """Claim the amounts, which are by provider and class, by HTTP."""
    document = {
        "allocations": {provider: {"resources": each} for provider, each in amounts.items()},
        "project_id": project,
        "user_id": "me",
        "consumer_type": kind,
        "consumer_generation": None,
    }
    _send("PUT", f"{url}/allocations/{consumer}", document)


def remove_claim(url, consumer):
    """Delete the allocations of a consumer by HTTP."""
    _send("DELETE", f"{url}/allocations/{consumer}", None)


def _send(method, url, document):
    headers = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement 1.39"}
    requests.request(method, url, json=document, headers=headers, timeout=60).raise_for_status()


@cache
def commands():
    """Return the connection to the process that runs the command in forks."""
    commands = Commands(
        "openstackclient.shell", "placement_insight.tests.support.openstack_modules"
    )
    atexit.register(commands.close)
    return commands
