"""Prints the description: ``python -m placement.openapi [1.39]``, of one microversion if named."""

import json
import sys

from placement import microversion, openapi
from placement.openapi.spans import Span


def main() -> None:
    """Write the document to standard output."""
    version = microversion.parse(sys.argv[1]) if sys.argv[1:] else None
    document = openapi.document(Span(version, version) if version else None)
    json.dump(document, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
