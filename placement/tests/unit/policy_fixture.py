"""The policy of a test: the default rules, and those that it sets."""

import os
from pathlib import Path

import fixtures
import yaml
from oslo_policy import opts as policy_opts


class PolicyFixture(fixtures.Fixture):
    """The default rules, without the policy files of the machine; ``set_rules`` changes them."""

    def __init__(self, conf_fixture):
        super().__init__()
        self.conf_fixture = conf_fixture

    def _setUp(self):
        self._rules = {}
        self._file = Path(self.useFixture(fixtures.TempDir()).path) / "policy.yaml"
        conf = self.conf_fixture.conf
        policy_opts.set_defaults(conf)
        self._write()
        conf.set_default("policy_file", str(self._file), "oslo_policy")
        conf.set_default("policy_dirs", [], "oslo_policy")

    def set_rules(self, rules, overwrite=True):
        """Put these rules in the place of the default ones of their names.

        With ``overwrite`` those that were set before are forgotten, otherwise they stay.
        """
        self._rules = dict(rules) if overwrite else {**self._rules, **rules}
        self._write()
        self.conf_fixture.config(group="oslo_policy", policy_file=str(self._file))

    def _write(self):
        """Replace the file, which is detected by its new inode even within the same second."""
        written = self._file.with_suffix(".new")
        written.write_text(yaml.safe_dump(self._rules) if self._rules else "")
        os.replace(written, self._file)
