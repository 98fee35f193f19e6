"""Authorization by policy rules: the defaults, and the overrides in policy files.

oslo.policy checks the rules. The reloading of oslo.policy searches for changed policy files at
every check, which costs more than a short request; during a reload, the default rules are missing
for a moment.
This module detects changes with a few ``stat`` calls and replaces the enforcer as a whole.
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
from urllib.parse import urlsplit

from oslo_config import cfg
from oslo_policy import policy as oslo_policy
from requests import RequestException

from placement import exception, policies
from placement.conf.base import config_files
from placement.policy import requirements
from placement.policy.files import problems

LOG = logging.getLogger(__name__)

_SECONDS_BETWEEN_SEARCHES = 1.0

# External checks raise OSError if the connection fails, RuntimeError after a timeout or without
# their certificate, KeyError if the URL has an attribute that the target does not have.
_FAILURES = (OSError, RuntimeError, KeyError)

_MAX_REMEMBERED = 1000

_Stamps = dict[str, tuple[int, int, int] | None]


class PolicyDecisions:
    """The decisions of an enforcer whose rules do not change."""

    def __init__(self, enforcer: oslo_policy.Enforcer) -> None:
        self._enforcer = enforcer
        self._remembers = requirements.are_pure(enforcer.rules)
        self._allowed: set[str] = set()

    def authorize(self, rule: str, target: Mapping[str, Any], caller: Mapping[str, Any]) -> None:
        """Return if the rule allows the caller this operation on the target.

        Raises: PolicyNotAuthorized, ScopeNotAuthorized if the token has no project scope,
        PolicyCheckFailed if an external check cannot be completed.

        A permission is remembered with all values of target and caller: a check by oslo.policy
        takes a tenth of a short request.
        """
        values = dict(caller)
        operation = repr((rule, target, values))
        if operation in self._allowed:
            return
        try:
            self._enforcer.enforce(rule, target, values, do_raise=True)
        except oslo_policy.InvalidScope:
            raise self._denial(exception.ScopeNotAuthorized, rule, caller) from None
        except oslo_policy.PolicyNotAuthorized:
            raise self._denial(exception.PolicyNotAuthorized, rule, caller) from None
        except _FAILURES as error:
            raise exception.PolicyCheckFailed(rule, _reason(error)) from error
        if self._remembers:
            if len(self._allowed) >= _MAX_REMEMBERED:
                self._allowed.clear()
            self._allowed.add(operation)

    def _denial(
        self, kind: type[exception.PolicyNotAuthorized], rule: str, caller: Mapping[str, Any]
    ) -> exception.PolicyNotAuthorized:
        requirement = requirements.described(self._enforcer.rules, rule)
        return kind(rule, requirement, tuple(caller.get("roles") or ()))


class Policy:
    """The effective rules: the defaults, overridden by the policy files.

    A changed file takes effect at the next check, a new file within a second. If a file or a
    directory cannot be read, the error is logged and the current rules stay.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._reloading = threading.Lock()
        self._search_at = 0.0
        self._stamps = _stamps(policy_files(conf))
        self._decisions = PolicyDecisions(_loaded(conf))

    def decisions(self) -> PolicyDecisions:
        """Return the decisions of the current rules, which do not change any more."""
        if self._is_outdated():
            self._reload()
        return self._decisions

    def _is_outdated(self) -> bool:
        stamps = self._stamps
        if stamps != _stamps(stamps):
            return True
        if time.monotonic() < self._search_at:
            return False
        self._search_at = time.monotonic() + _SECONDS_BETWEEN_SEARCHES
        try:
            return stamps.keys() != set(policy_files(self._conf))
        except OSError:  # a directory that cannot be read: the reload logs it
            return True

    def _reload(self) -> None:
        """Read the files again; concurrent requests use the previous rules until this is done."""
        if not self._reloading.acquire(blocking=False):
            return
        try:
            self._stamps = _stamps(policy_files(self._conf))
            self._decisions = PolicyDecisions(_loaded(self._conf))
        except Exception:
            LOG.exception("The policy files cannot be loaded; the previous rules stay in force")
        finally:
            self._reloading.release()


def _loaded(conf: cfg.ConfigOpts) -> oslo_policy.Enforcer:
    """Return an enforcer that has read the policy files and does not read them again.

    Raises: RuntimeError if a file is not valid.
    """
    enforcer = _enforcer(conf)
    try:
        enforcer.load_rules()
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        reason = next(problems(policy_files(conf), rule_names()), " ".join(str(error).split()))
        raise _invalid(conf, reason) from error
    if rules := requirements.loop(enforcer.rules):
        raise _invalid(conf, f"these rules refer to each other in a loop: {', '.join(rules)}")
    enforcer.use_conf = False
    return enforcer


def _invalid(conf: cfg.ConfigOpts, reason: str) -> RuntimeError:
    files = ", ".join(policy_files(conf))
    return RuntimeError(f"The policy files cannot be read: {reason}. Check {files}.")


def _enforcer(conf: cfg.ConfigOpts) -> oslo_policy.Enforcer:
    enforcer = oslo_policy.Enforcer(conf)
    # Half of the rules have a deprecated form; a warning for each at every start is noise.
    # The sample file and oslopolicy-list-redundant show them.
    enforcer.suppress_default_change_warnings = True
    enforcer.register_defaults(policies.list_rules())
    return enforcer


def rule_names() -> Iterator[str]:
    """Yield the names of the rules of the service."""
    return (rule.name for rule in policies.list_rules())


def policy_files(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Yield the existing policy files and directories.  Cost: about 100 us."""
    for name in (conf.oslo_policy.policy_file, *conf.oslo_policy.policy_dirs):
        path = conf.find_file(name)
        if path:
            yield path
            if os.path.isdir(path):
                yield from (entry.path for entry in os.scandir(path))


def _stamps(paths: Iterable[str]) -> _Stamps:
    """Return time, size and inode of each path, to detect changes.  Cost: 2 us per path."""
    stamps: _Stamps = dict.fromkeys(paths)
    for path in stamps:
        with suppress(OSError):
            status = os.stat(path)
            stamps[path] = status.st_mtime_ns, status.st_size, status.st_ino
    return stamps


def _reason(error: BaseException) -> str:
    """Return the address that was called, if one was, and the error, for the log.

    The URL can contain credentials, in any of its parts except for host and port. Messages of
    requests contain the URL, errors of the operating system do not.
    """
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, KeyError):
        return f"the target has no attribute {text}"
    request = getattr(error, "request", None) or getattr(error.__context__, "request", None)
    if isinstance(error, RequestException):
        text = _system_error(error) or type(error).__name__
    return text if request is None else f"{_address(request.url)}: {text}"


def _system_error(error: BaseException) -> str:
    """Return the first error in the chain of causes, empty if the system reported none."""
    while inner := error.__cause__ or error.__context__:
        error = inner
    is_of_system = isinstance(error, OSError) and not isinstance(error, RequestException)
    return str(error) if is_of_system else ""


def _address(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def get_enforcer() -> oslo_policy.Enforcer:
    """Return the enforcer for the command-line tools of oslo.policy.

    Their command line may contain --config-file and --config-dir.
    """
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--config-file", action="append", default=[])
    parser.add_argument("--config-dir", action="append", default=[])
    arguments, _ = parser.parse_known_args(sys.argv[1:])
    conf = cfg.ConfigOpts()
    conf(
        [],
        project="placement",
        default_config_files=arguments.config_file or config_files(),
        default_config_dirs=arguments.config_dir or None,
    )
    return _enforcer(conf)
