"""Shared by the tests of the documentation: its paths, and the scenario of the API samples."""

import json
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "doc" / "source"
SAMPLES = SOURCE / "api" / "samples"


class Step(NamedTuple):
    """One request of the scenario; see ``scenario.yaml``."""

    method: str
    path: str
    status: int
    body: object
    request: str | None
    response: str | None


def scenario() -> list[Step]:
    """Return the requests, in order."""
    return [
        Step(
            *step["call"].split(" ", 1),
            status=step.get("status", 200),
            body=step.get("body"),
            request=step.get("request"),
            response=step.get("response"),
        )
        for step in yaml.safe_load((SAMPLES / "scenario.yaml").read_text())
    ]


def text(document: object) -> str:
    """Return the file content of a sample."""
    return json.dumps(document, indent=4) + "\n"
