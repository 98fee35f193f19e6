"""Print the lengths of files and functions: ``make stats``."""

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("placement", "placement_insight", "placement_compare")
SHORT_MODULE = 40


def sources() -> Iterator[Path]:
    """Every module, without tests and migrations."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if not {"tests", "alembic"} & set(path.relative_to(ROOT).parts):
                yield path


def function_lengths(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of each function body without its docstring, and the name of the function."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
            length = (body[-1].end_lineno or 0) - body[0].lineno + 1
            yield length, f"{path.relative_to(ROOT)}:{node.name}"


def file_length(path: Path) -> tuple[int, str]:
    """Lines of one file, with its name."""
    return len(path.read_text().splitlines()), str(path.relative_to(ROOT))


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
    """Print one line for modules, one for short ones, and one for functions."""
    files = [file_length(path) for path in sources() if path.stat().st_size]
    functions = [length for path in sources() for length in function_lengths(path)]
    short = sum(
        length < SHORT_MODULE and not name.endswith("__init__.py") for length, name in files
    )
    print(describe("modules", files))
    print(f"modules of fewer than {SHORT_MODULE} lines: {short}")
    print(describe("functions", functions))


if __name__ == "__main__":
    main()
