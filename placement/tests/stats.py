"""Print the lengths of files and functions: ``make stats``."""

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def sources() -> Iterator[Path]:
    """Every module of the service, without tests and migrations."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if not {"tests", "alembic"} & set(path.relative_to(PACKAGE).parts):
            yield path


def function_lengths(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of each function body without its docstring, and the name of the function."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
            length = (body[-1].end_lineno or 0) - body[0].lineno + 1
            yield length, f"{path.relative_to(PACKAGE)}:{node.name}"


def file_length(path: Path) -> tuple[int, str]:
    """Lines of one file, with its name."""
    return len(path.read_text().splitlines()), str(path.relative_to(PACKAGE))


def describe(what: str, lengths: list[tuple[int, str]]) -> str:
    """Median, 90th percentile and largest of the lengths, in one line."""
    numbers = [length for length, _ in lengths]
    ninth = statistics.quantiles(numbers, n=10)[-1]
    largest, place = max(lengths)
    return (
        f"{what}: {len(numbers)}, lines in all {sum(numbers)}, median "
        f"{statistics.median(numbers):g}, 90th percentile {ninth:g}, largest {largest} ({place})"
    )


def main() -> None:
    """Print one line for files, one for functions."""
    files = [file_length(path) for path in sources() if path.stat().st_size]
    functions = [length for path in sources() for length in function_lengths(path)]
    print(describe("files", files))
    print(describe("functions", functions))


if __name__ == "__main__":
    main()
