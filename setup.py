"""Leaves the tests out of packages, except for the fixtures that other projects import.

Everything else is in pyproject.toml, which can leave out packages, but not modules.
"""

from setuptools import setup
from setuptools.command.build_py import build_py

FIXTURES = {
    "placement.tests": {"__init__", "fixtures"},
    "placement.tests.functional": {"__init__"},
    "placement.tests.functional.fixtures": {"__init__", "capture", "placement"},
    "placement.tests.unit": {"__init__", "policy_fixture"},
}


def is_of_tests(package: str) -> bool:
    """Return whether the package is a part of the tests."""
    return f"{package}.".startswith(("placement.tests.", "placement_insight.tests."))


class WithoutTests(build_py):
    """Finds the modules of packages; of the tests only the fixtures."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        """Return package, name and file of each module of a package."""
        modules: list[tuple[str, str, str]] = super().find_package_modules(package, package_dir)
        if not is_of_tests(package):
            return modules
        return [each for each in modules if each[1] in FIXTURES.get(package, ())]

    def find_data_files(self, package: str, src_dir: str) -> list[str]:
        """Return the other files of a package."""
        files: list[str] = super().find_data_files(package, src_dir)
        return [] if is_of_tests(package) else files


setup(cmdclass={"build_py": WithoutTests})
