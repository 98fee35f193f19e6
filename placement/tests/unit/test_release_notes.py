"""The files of release notes."""

import re
import tomllib
from collections import Counter

import yaml

from placement.tests.support import docs

NOTES = docs.ROOT / "releasenotes" / "notes"


def test_each_note_has_an_id_of_its_own():
    """reno finds the history of a note by the 16 hexadecimal digits at the end of its name."""
    names = [path.name for path in NOTES.iterdir()]
    ids = [re.fullmatch(r".+-([0-9a-f]{16})\.yaml", name)[1] for name in names]
    assert [id_ for id_, count in Counter(ids).items() if count > 1] == []


def test_the_page_of_unreleased_notes_has_the_version_of_the_project_as_title():
    version = tomllib.loads((docs.ROOT / "pyproject.toml").read_text())["project"]["version"]
    configuration = yaml.safe_load((NOTES.parent / "config.yaml").read_text())
    assert configuration["unreleased_version_title"] == version
