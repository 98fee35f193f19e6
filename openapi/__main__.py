"""Prints the OpenAPI document: ``python -m openapi [1.39]``."""

import json
import sys

import openapi
from openapi.version_range import VersionRange
from placement import microversion


def main() -> None:
    """Write the document to standard output: of one microversion if the command line names it."""
    version = microversion.parse(sys.argv[1]) if sys.argv[1:] else None
    document = openapi.document(VersionRange(version, version) if version else None)
    json.dump(document, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
