"""Whether a caller may do what it asks for: the rules, and what operators made of them.

Rules are checked by oslo.policy. By itself it searches for changed policy files at every check,
which costs more than a short request does, and while it reloads there are moments without the
default rules. So here the files are watched by a few stats, and a complete new enforcer takes the
old one's place.
"""

import argparse
import logging
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from oslo_config import cfg
from oslo_policy import opts
from oslo_policy import policy as oslo_policy

from placement import exception, policies

LOG = logging.getLogger(__name__)

_SECONDS_BETWEEN_SEARCHES = 1.0

_Stamps = dict[str, tuple[int, int, int] | None]


class Policy:
    """The rules in force: the defaults, and over them those of the policy files.

    A changed file counts from the next check on, a file made where there was none within a second.
    A file that cannot be read changes nothing, but that an error is logged.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._reloading = threading.Lock()
        self._search_at = 0.0
        opts.set_defaults(conf)  # which registers them
        self._stamps = _stamps(_files(conf))
        self._enforcer = _loaded(conf)

    def authorize(self, rule: str, target: Mapping[str, Any], caller: dict[str, Any]) -> None:
        """Return if the rule lets the caller do this to the target.

        Raises: PolicyNotAuthorized, ScopeNotAuthorized when the caller's token is for no project.
        """
        if self._is_outdated():
            self._reload()
        try:
            self._enforcer.enforce(rule, target, caller, do_raise=True)
        except oslo_policy.InvalidScope:
            raise exception.ScopeNotAuthorized(rule) from None
        except oslo_policy.PolicyNotAuthorized:
            raise exception.PolicyNotAuthorized(rule) from None

    def _is_outdated(self) -> bool:
        stamps = self._stamps
        if stamps != _stamps(stamps):
            return True
        if time.monotonic() < self._search_at:
            return False
        self._search_at = time.monotonic() + _SECONDS_BETWEEN_SEARCHES
        return stamps.keys() != set(_files(self._conf))

    def _reload(self) -> None:
        """Take the files as they are now; whoever comes meanwhile goes on with the old rules."""
        if not self._reloading.acquire(blocking=False):
            return
        try:
            self._stamps = _stamps(_files(self._conf))
            self._enforcer = _loaded(self._conf)
        except Exception:
            LOG.exception("The policy files cannot be loaded; the rules stay as they were")
        finally:
            self._reloading.release()


def _loaded(conf: cfg.ConfigOpts) -> oslo_policy.Enforcer:
    """Return an enforcer that has read the policy files, and does not look at them again."""
    enforcer = _enforcer(conf)
    enforcer.load_rules()
    enforcer.use_conf = False
    return enforcer


def _enforcer(conf: cfg.ConfigOpts) -> oslo_policy.Enforcer:
    enforcer = oslo_policy.Enforcer(conf)
    # Half of our rules have a deprecated form, which is no news to whoever runs the service;
    # oslopolicy-list-redundant and the sample file tell of it.
    enforcer.suppress_default_change_warnings = True
    enforcer.register_defaults(policies.list_rules())
    return enforcer


def _files(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Yield the policy files and directories that there are.  Cost: some 100 us."""
    for name in (conf.oslo_policy.policy_file, *conf.oslo_policy.policy_dirs):
        path = conf.find_file(name)
        if path:
            yield path
            if os.path.isdir(path):
                yield from (entry.path for entry in os.scandir(path))


def _stamps(paths: Iterable[str]) -> _Stamps:
    """Return what tells that a file has been written.  Cost: 2 us per path."""
    stamps: _Stamps = dict.fromkeys(paths)
    for path in stamps:
        with suppress(OSError):
            status = os.stat(path)
            stamps[path] = status.st_mtime_ns, status.st_size, status.st_ino
    return stamps


def get_enforcer() -> oslo_policy.Enforcer:
    """Return the enforcer that oslo.policy's tools work with.

    They take --config-file and --config-dir on their command line, among options of their own.
    """
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--config-file", action="append", default=[])
    parser.add_argument("--config-dir", action="append", default=[])
    asked, _ = parser.parse_known_args(sys.argv[1:])
    conf = cfg.ConfigOpts()
    conf(
        [],
        project="placement",
        default_config_files=asked.config_file or None,
        default_config_dirs=asked.config_dir or None,
    )
    return _enforcer(conf)
