"""The policy rules of the routes below ``/insight``."""

from collections.abc import Sequence

from oslo_policy.policy import DocumentedRuleDefault, RuleDefault

from placement.policies import ProjectRule, Resource

_INSIGHT = Resource("insight:", "/insight")
SHOW = _INSIGHT.rule("show", "Show what the operator surface offers.", "GET")
EXPLAIN = _INSIGHT.rule(
    "explanation",
    "Explain where a request for candidates fits, and why it does not elsewhere.",
    "GET /explanation",
)
PROVIDERS = _INSIGHT.rule(
    "providers",
    "List providers with everything they have, or those that changed; the fullest hosts, and who "
    "disabled them.",
    "GET /providers",
    "GET /top",
)
LIST_REQUESTS = _INSIGHT.rule(
    "requests:list",
    "List or count requests that found no candidates, and claims that were refused.",
    "GET /requests",
    "GET /requests/summary",
    kind=ProjectRule,
)
SHOW_REQUEST = _INSIGHT.rule(
    "requests:show", "Show what is recorded with a request id.", "GET /requests/{request_id}"
)
CAPACITY = _INSIGHT.rule(
    "capacity", "Show how often a shape can still be claimed.", "GET /capacity"
)
CONSUMERS = _INSIGHT.rule(
    "consumers", "List consumers with their allocations.", "GET /consumers", kind=ProjectRule
)
FINDINGS = _INSIGHT.rule("findings", "List what an audit of the database finds.", "GET /findings")
IDENTITY = _INSIGHT.rule(
    "identity", "List the providers that a host name or UUID could mean.", "GET /identity"
)
CLIENTS = _INSIGHT.rule(
    "clients", "List which microversions the clients of an API host send.", "GET /clients"
)
CHANGES = _INSIGHT.rule(
    "changes",
    "List what changed, and the requests that changed it; also in explanations, if the caller may "
    "read these.",
    "GET /changes",
)
PLAN = _INSIGHT.rule(
    "plan",
    "Plan where consumers would fit if providers were gone.",
    "GET /drain",
    "POST /drain",
    "GET /survival",
    "POST /survival",
    "POST /room",
)


def list_rules() -> Sequence[RuleDefault]:
    """Return the rules with their defaults."""
    return [rule for rule in globals().values() if isinstance(rule, DocumentedRuleDefault)]
