"""Serves Keystone, in whose environment this runs: nothing of ours can be imported here.

Takes a folder with a ``keystone.conf``; makes the database in it, and prints where it listens.
"""

import os
import subprocess
import sys
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

PASSWORD = "secret"

CONFIGURATION = """
[DEFAULT]
log_file = {folder}/log
use_stderr = false
[database]
connection = sqlite:///{folder}/keystone.sqlite
[fernet_tokens]
key_repository = {folder}/keys
[fernet_receipts]
key_repository = {folder}/keys
[identity]
password_hash_rounds = 4
"""


class Quiet(WSGIRequestHandler):
    """Logs no requests."""

    def log_message(self, *_arguments):
        """Log nothing."""


def initialise(folder, url):
    """Make a Keystone with an administrator, and with itself in its catalogue."""
    file = Path(folder) / "keystone.conf"
    file.write_text(CONFIGURATION.format(folder=folder))
    os.environ["OS_KEYSTONE_CONFIG_FILES"] = str(file)
    user, group = str(os.getuid()), str(os.getgid())
    endpoints = ["--bootstrap-public-url", url, "--bootstrap-internal-url", url]
    for arguments in (
        ["db_sync"],
        ["fernet_setup", "--keystone-user", user, "--keystone-group", group],
        ["bootstrap", "--bootstrap-password", PASSWORD, *endpoints],
    ):
        program = Path(sys.executable).parent / "keystone-manage"
        command = [program, "--config-file", file, *arguments]
        subprocess.run(command, check=True, stdout=sys.stderr)


def main(folder):
    """Answer requests on a free port until the process is ended."""
    with make_server("127.0.0.1", 0, None, handler_class=Quiet) as server:
        url = f"http://127.0.0.1:{server.server_port}/v3"
        initialise(folder, url)
        sys.argv = ["keystone"]  # it reads the command line
        from keystone.wsgi.api import application  # noqa: PLC0415  configured when imported

        server.set_app(application)
        print(url, flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
