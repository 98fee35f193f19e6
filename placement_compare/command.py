"""``placement-compare``: compares the responses of two Placement services to equal requests."""

import argparse
import gzip
import json
import os
import ssl
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from importlib.metadata import version
from itertools import chain
from pathlib import Path

from placement import terminal
from placement.core.text import printable, printable_lines
from placement.terminal import INTERRUPTED, progress_line
from placement_compare.client import Service, UnusableService
from placement_compare.model import Microversion, Read
from placement_compare.report import report, text
from placement_compare.requests import derived_reads, read_log
from placement_compare.run import State, UnusableState, compare

EQUAL, FAILED, DIFFERENT = 0, 1, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    terminal.accept_all_characters()
    try:
        return terminal.written(lambda: _run(_parser().parse_args(arguments)))
    except BrokenPipeError:  # of the output: connections raise other errors
        terminal.discard_unwritten()
        return terminal.CLOSED
    except (UnusableService, UnusableState, OSError, EOFError, zlib.error) as error:
        terminal.discard_unwritten()
        print(f"placement-compare: {printable(str(error))}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("placement-compare: interrupted", file=sys.stderr)
        return INTERRUPTED


def _run(options: argparse.Namespace) -> int:
    context = _context(options)
    old, new = (
        Service(url, token, timeout_seconds=options.timeout, context=context)
        for url, token in (
            (options.old, options.token),
            (options.new, options.new_token or options.token),
        )
    )
    with closing(old), closing(new), closing(State(options.state, old.url, new.url)) as state:
        is_complete = _compare(options, old, new, state)
        document = report(state.results, old.url, new.url)
    print(json.dumps(document, indent=4) if options.json else printable_lines(text(document)))
    if not is_complete:
        print(
            "placement-compare: interrupted; the report is incomplete. The same command with "
            "--state FILE resumes.",
            file=sys.stderr,
        )
        return INTERRUPTED
    return EQUAL if document["equal"] == document["requests"] else DIFFERENT


def _compare(options: argparse.Namespace, old: Service, new: Service, state: State) -> bool:
    """Add the results of all requests to the state; return False if interrupted."""
    with progress_line() as show:
        try:
            show("Reading the providers ...")
            reads = [read for read in _reads(options, old, new) if read not in state.completed]
            begin = time.monotonic()
            for number, result in enumerate(compare(old, new, reads), 1):
                state.add(result)
                show(_progress(number, len(reads), time.monotonic() - begin))
        except KeyboardInterrupt:
            return False
    return True


def _reads(options: argparse.Namespace, old: Service, new: Service) -> list[Read]:
    """Return the requests of the logs, then the derived ones, without repetitions."""
    newest = min(old.newest(), new.newest())
    logged = read_log(_lines(options.log), options.microversion or newest)
    derived = derived_reads(old, newest, options.sample, options.seed)
    return list(dict.fromkeys(chain(logged, derived)))


def _lines(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", errors="replace") as file:
            yield from file


def _context(options: argparse.Namespace) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=options.cacert)
    if options.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _progress(number: int, total: int, seconds: float) -> str:
    rest = round(seconds / number * (total - number))
    return f"{number}/{total} requests, {rest // 60}:{rest % 60:02} remaining"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="placement-compare",
        description="Compare the responses of two Placement services over copies of one database. "
        "Sends only GET requests.",
    )
    _add_services(parser)
    _add_requests(parser)
    parser.add_argument(
        "--state", type=Path, metavar="FILE", help="keep results in FILE and resume from it"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    text_of_version = f"%(prog)s {version('openplacement')}"
    parser.add_argument("--version", action="version", version=text_of_version)
    return parser


def _add_services(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--old", required=True, metavar="URL", help="the current service")
    parser.add_argument("--new", required=True, metavar="URL", help="the service to compare")
    parser.add_argument(
        "--token",
        default=os.environ.get("OS_TOKEN", ""),
        help="token for both services (environment variable OS_TOKEN)",
    )
    parser.add_argument("--new-token", metavar="TOKEN", help="another token for the new service")
    parser.add_argument(
        "--timeout",
        type=float,
        default=60,
        metavar="SECONDS",
        help="per request (default: %(default)s)",
    )
    parser.add_argument("--cacert", metavar="FILE", help="CA certificates for HTTPS")
    parser.add_argument("--insecure", action="store_true", help="do not verify certificates")


def _add_requests(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--log",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="replay the GET requests of a log (openstack-placement, uWSGI, Apache; .gz)",
    )
    parser.add_argument(
        "--sample",
        type=_number,
        default=100,
        metavar="N",
        help="derive requests from N providers (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="selects the sample (default: %(default)s)",
    )
    parser.add_argument(
        "--microversion",
        type=_microversion,
        metavar="1.N",
        help="for log lines without microversion (the newest of both services)",
    )


def _number(value: str) -> int:
    number = int(value)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{number} is negative; use 0 or more")
    return number


def _microversion(value: str) -> Microversion:
    major, _, minor = value.partition(".")
    if major != "1" or not minor.isdecimal():
        raise argparse.ArgumentTypeError(f"{value} is not a microversion; use 1.0 to 1.39")
    return (1, int(minor))
