"""What the tests of the documentation share: where it is, and the story that its samples tell."""

import json
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "doc" / "source"
SAMPLES = SOURCE / "api" / "samples"


class Step(NamedTuple):
    """One request of the story; see ``scenario.yaml``."""

    method: str
    path: str
    status: int
    body: object
    request: str | None
    answer: str | None


def story() -> list[Step]:
    """Return the requests in their order."""
    return [
        Step(
            *told["call"].split(" ", 1),
            status=told.get("status", 200),
            body=told.get("body"),
            request=told.get("request"),
            answer=told.get("answer"),
        )
        for told in yaml.safe_load((SAMPLES / "scenario.yaml").read_text())
    ]


def text(document: object) -> str:
    """Return a sample as its file has it."""
    return json.dumps(document, indent=4) + "\n"
