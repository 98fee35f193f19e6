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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

from oslo_config import cfg
from oslo_policy import policy as oslo_policy
from requests import RequestException

from placement import exception, policies
from placement.conf.base import config_files
from placement.policy import files, judgement, requirements

LOG = logging.getLogger(__name__)

_SECONDS_BETWEEN_SEARCHES = 1.0

# External checks raise OSError if the connection fails, RuntimeError after a timeout or without
# their certificate.
_FAILURES = (OSError, RuntimeError)

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
    directory cannot be read, the error is logged once and the current rules stay.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._reloading = threading.Lock()
        self._search_at = 0.0
        self._stamps = _stamps(_watched(conf))
        self._decisions = _decisions(conf)

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
        return stamps.keys() != set(_watched(self._conf))

    def _reload(self) -> None:
        """Read the files again; concurrent requests use the previous rules until this is done."""
        if not self._reloading.acquire(blocking=False):
            return
        try:
            self._stamps = _stamps(_watched(self._conf))
            self._decisions = _decisions(self._conf)
        except RuntimeError as error:
            LOG.error("%s The previous rules stay in force.", error)  # noqa: TRY400
        except Exception:
            LOG.exception("The policy files cannot be loaded. The previous rules stay in force.")
        finally:
            self._reloading.release()


def _decisions(conf: cfg.ConfigOpts) -> PolicyDecisions:
    enforcer, warnings = load(conf)
    if warnings:
        LOG.warning("Policy files: %s", "; ".join(warnings))
    return PolicyDecisions(enforcer)


def load(conf: cfg.ConfigOpts) -> tuple[oslo_policy.Enforcer, Sequence[str]]:
    """Return an enforcer that has the rules of the policy files, and sentences for operators.

    Raises: RuntimeError with all problems of the files.
    """
    try:
        return _load(conf)
    except RecursionError:
        raise _invalid(["the checks are nested too deeply."]) from None


def _load(conf: cfg.ConfigOpts) -> tuple[oslo_policy.Enforcer, Sequence[str]]:
    try:
        contents = [files.read(path) for path in policy_files(conf)]
    except OSError as error:
        raise _invalid([f"{error.filename} cannot be read: {error.strerror}."]) from None
    entries = [entry for file in contents for entry in file.entries]
    if any(file.problems for file in contents):
        raise _invalid(problem for file in contents for problem in file.problems)
    if problems := list(chain.from_iterable(map(judgement.evaluation_problems, entries))):
        raise _invalid(problems)
    enforcer = _enforcer(conf)
    enforcer.load_rules()
    read = {str(name): str(rule.check) for name, rule in enforcer.file_rules.items()}
    if read != {entry.name: str(entry.rule.check) for entry in entries}:
        raise _invalid(["they changed while they were read. Try again."])
    if rules := requirements.loop(enforcer.rules):
        raise _invalid([f"these rules refer to each other in a loop: {', '.join(rules)}."])
    if problems := list(judgement.problems(entries, enforcer.rules)):
        raise _invalid(problems)
    replaced = [sentence for file in contents for sentence in file.replaced]
    warnings = [*replaced, *judgement.warnings(entries, enforcer)]
    checks = {name: judgement.guarded(check) for name, check in enforcer.rules.items()}
    enforcer.set_rules(checks, use_conf=False)
    return enforcer, warnings


def _invalid(problems: Iterable[str]) -> RuntimeError:
    return RuntimeError(f"The policy files cannot be loaded: {' '.join(problems)}")


def _enforcer(conf: cfg.ConfigOpts) -> oslo_policy.Enforcer:
    enforcer = oslo_policy.Enforcer(conf)
    # Half of the rules have a deprecated form; a warning for each at every start is noise.
    # The sample file and oslopolicy-list-redundant show them.
    enforcer.suppress_default_change_warnings = True
    enforcer.register_defaults(policies.list_rules())
    return enforcer


def policy_files(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Yield the policy files, each before those that override it.  Cost: about 100 us.

    Raises: OSError.
    """
    if path := conf.find_file(conf.oslo_policy.policy_file):
        yield path
    for directory in _directories(conf):
        with os.scandir(directory) as listed:
            yield from sorted(
                each.path for each in listed if not each.is_dir() and each.name[0] != "."
            )


def _directories(conf: cfg.ConfigOpts) -> Iterator[str]:
    return filter(None, map(conf.find_file, conf.oslo_policy.policy_dirs))


def _watched(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Yield the files and directories whose changes are detected."""
    yield from _directories(conf)
    with suppress(OSError):  # the reload reports it
        yield from policy_files(conf)


def _stamps(paths: Iterable[str]) -> _Stamps:
    """Return time, size and inode of each path, to detect changes.  Cost: 2 us per path.

    The time is that of the last change, also of the permissions.
    """
    stamps: _Stamps = dict.fromkeys(paths)
    for path in stamps:
        with suppress(OSError):
            status = os.stat(path)
            stamps[path] = status.st_ctime_ns, status.st_size, status.st_ino
    return stamps


def _reason(error: BaseException) -> str:
    """Return the address that was called, if one was, and the error, for the log.

    The URL can contain credentials, in any of its parts except for host and port. Messages of
    requests contain the URL, errors of the operating system do not.
    """
    text = " ".join(str(error).split()) or type(error).__name__
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
