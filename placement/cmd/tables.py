"""Tables of ``placement-manage``."""

import sys
from collections.abc import Sequence

from prettytable import PrettyTable

from placement import terminal


def table(columns: Sequence[str], rows: terminal.Rows, important: Sequence[str]) -> str:
    """Return a table of texts and numbers that fits the terminal; see ``terminal.fitted``."""
    width = terminal.table_width(sys.stdout)
    shown, cells = terminal.fitted(columns, rows, width, important)
    text = PrettyTable(shown, align="l")
    text.add_rows(cells)
    return str(text)
