"""The ``openstack`` command with the plugin osc-placement, run against a service."""

import json
import os
import subprocess
import sys
from pathlib import Path

AGGREGATE = "5e08ea53-c4c6-448e-9334-ac4953de3cfa"
OPENSTACK = Path(sys.executable).with_name("openstack")


class Client:
    """The ``openstack`` command, with the plugin osc-placement."""

    def __init__(self, url):
        self.options = ["--os-endpoint", url, "--os-token", "admin"]

    def __call__(self, command, *arguments):
        done = self.run(command, *arguments, "-f", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def refused(self, command, *arguments):
        done = self.run(command, *arguments)
        assert done.returncode != 0
        return done.stderr

    def run(self, command, *arguments):
        environ = {name: text for name, text in os.environ.items() if not name.startswith("OS_")}
        version = ["--os-placement-api-version", "1.39"]
        return subprocess.run(
            [OPENSTACK, *self.options, *version, *command.split(), *arguments],
            env=environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
