"""Prints the OpenAPI document: ``python -m placement.openapi [1.39]``."""

import json
import sys

from placement import microversion, openapi
from placement.openapi.version_range import VersionRange


def main() -> None:
    """Write the document to standard output: of one microversion if the command line names it."""
    version = microversion.parse(sys.argv[1]) if sys.argv[1:] else None
    document = openapi.document(VersionRange(version, version) if version else None)
    json.dump(document, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
