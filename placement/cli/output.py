"""The output of the commands of ``openstack``, written while errors are still handled."""

from collections.abc import Callable
from typing import Any

from osc_lib.exceptions import CommandError

from placement.cmd import standard_output


class WrittenOutput:
    """Mixed into a command: it fails if its output cannot be written.

    Otherwise Python would report that with a traceback when ``openstack`` exits.
    """

    def run(self, parsed_args: Any) -> int:
        """Run the command; return its exit code.

        Raises: BrokenPipeError, for which cliff exits with 141; CommandError.
        """
        run: Callable[[Any], int] = super().run  # type: ignore[misc]
        try:
            return standard_output.written(lambda: run(parsed_args))
        except BrokenPipeError:
            standard_output.discard_unwritten()
            raise
        except OSError as error:
            standard_output.discard_unwritten()
            if error.errno not in standard_output.UNWRITABLE:
                raise
            raise CommandError(standard_output.describe(error)) from error
