"""Serves Keystone, in whose environment this runs: nothing of ours can be imported here.

Takes a folder with a ``keystone.conf``; makes the database in it, and prints where it listens.
"""

import multiprocessing
import os
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
[oslo_middleware]
enable_proxy_headers_parsing = true
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
        manage("--config-file", str(file), *arguments)


def manage(*arguments):
    """Run keystone-manage in a fork of this process, which imports it once."""
    from keystone.cmd.manage import main  # noqa: PLC0415  after the configuration is written

    def run():
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        sys.argv = ["keystone-manage", *arguments]
        sys.exit(main())

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"keystone-manage {arguments} ended with {process.exitcode}")


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
