"""``placement-manage explain``: why a request for candidates finds no host, from the database.

For the operator on the API host: it needs no token, and no running service.
"""

import argparse
import json
import sys
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

from oslo_config import cfg

from placement import db_api, exception, microversion
from placement.core.snapshot.snapshot import Snapshot
from placement.core.text import printable
from placement.db.store import Store
from placement.engine.engine import Engine
from placement_insight.documents import Response
from placement_insight.explain import command
from placement_insight.explain import http as parse
from placement_insight.explain.document import as_json
from placement_insight.explain.explain import explained
from placement_insight.explain.records import http as render
from placement_insight.explain.records import sql
from placement_insight.explain.records.model import INVALID_REQUEST
from placement_insight.explain.records.text import SUPERSEDED, equal_requests
from placement_insight.explain.text import as_text
from placement_insight.fitted_tables import fitted_lines
from placement_insight.names import uuid_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "query",
        metavar="<query>",
        nargs="?",
        help="A request for candidates as a query string, or the URL of a log line.",
    )
    parser.add_argument(
        "--microversion",
        metavar="<version>",
        help="The microversion at which the query is parsed. Default: the newest.",
    )
    command.add_explanation(parser)
    parser.add_argument("--json", action="store_true", help="Print the JSON document.")


def run(conf: cfg.ConfigOpts) -> int:
    """Print the explanation, and return 0.

    Raises: PlacementException if the query cannot be read or nothing is recorded.
    """
    arguments = conf.category
    with db_api.opened(conf) as store:
        if arguments.request_id:
            _print_recorded(store, arguments.request_id, is_json=arguments.json)
        else:
            _print_current(store, arguments)
    return 0


def _print_current(store: Store, arguments: Any) -> None:
    if not arguments.query:
        raise exception.BadRequest('Give a query, such as "resources=VCPU:4", or --request-id.')
    version = _version(arguments.microversion or microversion.LATEST)
    query = arguments.query.strip().partition("?")
    pairs = parse_qsl(query[2] or query[0], keep_blank_values=True)
    question = parse.question(pairs, version)
    if arguments.remedies:
        question = replace(question, remedies=True)
    snapshot = Engine(store).current()
    if arguments.host is not None:
        question = replace(question, root=_provider(snapshot, arguments.host))
    document = as_json(explained(snapshot, question))
    if arguments.json:
        print(json.dumps(document, indent=2))
    else:
        _write(as_text(document))


def _version(text: str) -> microversion.Version:
    """Return a supported microversion.  Raises: BadRequest."""
    try:
        return microversion.negotiate(f"{microversion.SERVICE_TYPE} {text}")
    except (exception.InvalidVersion, exception.UnacceptableVersion):
        newest = microversion.MAX_VERSION
        raise exception.BadRequest(
            f"--microversion {text}: use a number from 1.10 to {newest}, or latest."
        ) from None


def _provider(snapshot: Snapshot, host: str) -> str:
    """Return the UUID of a provider from its UUID or name.  Raises: UnknownName."""
    providers = [state.provider for state in snapshot.states()]
    names = {provider.uuid: provider.name for provider in providers}
    roots = {provider.root_uuid for provider in providers}
    return host if host in names else uuid_of(host, names, "provider", roots)


def _print_recorded(store: Store, request_id: str, *, is_json: bool) -> None:
    recorded = sql.of_request(store, request_id)
    if is_json:
        print(json.dumps(render.recorded_requests(recorded, request_id=request_id), indent=2))
        return
    for record in recorded:
        _print_record(render.recorded_request(record, request_id))


def _print_record(recorded: Response) -> None:
    explanation = recorded["explanation"]
    ids = [recorded[name] for name in ("global_request_id", "request_id") if recorded[name]]
    origin = f"requested at {recorded['at']}, {', '.join(ids)}{equal_requests(recorded)}"
    if recorded["is_superseded"]:
        _write(f"{SUPERSEDED}:")
    if "funnel" in explanation:
        _write(as_text(explanation, origin=origin))
        return
    sentence = explanation.get("sentence", recorded["reason"])
    if recorded.get("query"):  # without a funnel if the explanation was too long to record
        result = "Invalid request" if recorded["kind"] == INVALID_REQUEST else "No host for"
        _write(printable(f"{result} {recorded['query']} ({origin}): {sentence}"))
        return
    result = "No host" if "query" in recorded else "Claim refused"
    _write(printable(f"{result}: {sentence} ({origin})"))
    for name, value in explanation.items():
        if name not in {"version", "sentence"}:
            _write(printable(f"  {name}: {_named(value)}"))


def _named(value: Any) -> str:
    """Return a fact of a refused claim; a provider by its name and UUID."""
    if isinstance(value, dict) and "uuid" in value:
        return f"{value['name']} ({value['uuid']})" if "name" in value else str(value["uuid"])
    return str(value)


def _write(text: str) -> None:
    print(fitted_lines(text, sys.stdout))
