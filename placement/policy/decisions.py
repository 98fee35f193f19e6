"""Policy decisions, cached for equal rules, targets and callers.

A check by oslo.policy takes 0.1 ms, most of which is spent on inspecting the signatures of
checks. Its result depends on the rule, the target and the caller alone, unless a rule calls an
external check, such as ``http:``. Then no decision is cached.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from oslo_policy import policy as oslo_policy

from placement import exception
from placement.policy import requirements

# each takes about 1 kB; a caller needs one for each rule and target
_MAX_DECISIONS = 4096
# a target may have a text of the query, of any length
_MAX_KEY_LENGTH = 4000
# its checks compare values of the target and the caller; external checks are elsewhere
_PURE_CHECKS = "oslo_policy._checks"

# External checks raise OSError if the connection fails, RuntimeError after a timeout or without
# their certificate, KeyError if the URL has an attribute that the target does not have.
_FAILURES = (OSError, RuntimeError, KeyError)

Denial = Callable[[], exception.PolicyNotAuthorized]


class PolicyDecisions:
    """The decisions of an enforcer whose rules do not change."""

    def __init__(self, enforcer: oslo_policy.Enforcer) -> None:
        self._enforcer = enforcer
        self._is_pure = all(map(_is_pure, enforcer.rules.values()))
        self._denials: dict[tuple[str, str, str], Denial | None] = {}

    def authorize(self, rule: str, target: Mapping[str, Any], caller: Mapping[str, Any]) -> None:
        """Return if the rule allows the caller this operation on the target.

        Raises: PolicyNotAuthorized, ScopeNotAuthorized if the token has no project scope,
        PolicyCheckFailed if an external check cannot be completed.
        """
        # texts, None, booleans and lists: their representations are equal only if they are
        key = rule, repr(target), repr(caller)
        try:
            denial = self._denials[key]
        except KeyError:
            denial = self._decide(rule, target, caller)
            self._cache(key, denial)
        if denial is not None:
            raise denial()

    def _cache(self, key: tuple[str, str, str], denial: Denial | None) -> None:
        if len(self._denials) >= _MAX_DECISIONS:
            self._denials = {}
        if self._is_pure and sum(map(len, key)) <= _MAX_KEY_LENGTH:
            self._denials[key] = denial

    def _decide(
        self, rule: str, target: Mapping[str, Any], caller: Mapping[str, Any]
    ) -> Denial | None:
        """Return the error of a denied operation, None if it is allowed."""
        try:
            self._enforcer.enforce(rule, target, dict(caller), do_raise=True)
        except oslo_policy.InvalidScope:
            return self._denial(exception.ScopeNotAuthorized, rule, caller)
        except oslo_policy.PolicyNotAuthorized:
            return self._denial(exception.PolicyNotAuthorized, rule, caller)
        except _FAILURES as error:
            raise exception.PolicyCheckFailed(rule, _reason(error)) from error
        return None

    def _denial(
        self, kind: type[exception.PolicyNotAuthorized], rule: str, caller: Mapping[str, Any]
    ) -> Denial:
        return partial(kind, rule, self.requirement(rule), tuple(caller.get("roles") or ()))

    def requirement(self, rule: str) -> str:
        """Return what the rule requires of a caller; empty if there is no such rule."""
        return requirements.described(self._enforcer.rules, rule)

    def named_roles(self) -> frozenset[str]:
        """Return the roles, in lower case, that the rules name."""
        return requirements.roles(self._enforcer.rules)


def _reason(error: BaseException) -> str:
    """Return the address that was called, if one was, and the error."""
    request = getattr(error, "request", None) or getattr(error.__context__, "request", None)
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, KeyError):
        text = f"the target has no attribute {text}"
    return text if request is None else f"{request.url}: {text}"


def _is_pure(check: Any) -> bool:
    """Whether the result depends on the target and the caller alone."""
    parts = getattr(check, "rules", None) or [getattr(check, "rule", None)]
    return type(check).__module__ == _PURE_CHECKS and all(
        _is_pure(part) for part in parts if part is not None
    )
