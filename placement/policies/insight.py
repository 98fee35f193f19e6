"""The operator surface under ``/insight``."""

from placement.policies import base

PREFIX = "placement:insight:"
SHOW = PREFIX + "show"
EXPLAIN = PREFIX + "explanation"
PROVIDERS = PREFIX + "providers"
CAPACITY = PREFIX + "capacity"
CONSUMERS = PREFIX + "consumers"
FINDINGS = PREFIX + "findings"
IDENTITY = PREFIX + "identity"
PERMISSIONS = PREFIX + "permissions"
LIST_REQUESTS = PREFIX + "requests:list"
SHOW_REQUEST = PREFIX + "requests:show"

RULES = (
    base.operation(SHOW, "Show what the operator surface offers.", "GET /insight"),
    base.operation(
        EXPLAIN,
        "Explain where a request for candidates fits, and why it does not elsewhere.",
        "GET /insight/explanation",
    ),
    base.operation(
        PROVIDERS,
        "List providers with everything they have, or those that changed.",
        "GET /insight/providers",
    ),
    base.operation(
        LIST_REQUESTS,
        "List requests that found no candidates, and claims that were refused.",
        "GET /insight/requests",
    ),
    base.operation(
        SHOW_REQUEST,
        "Show what is recorded with a request id.",
        "GET /insight/requests/{request_id}",
    ),
    base.operation(
        CAPACITY, "Show how often a shape can still be claimed.", "GET /insight/capacity"
    ),
    base.operation(CONSUMERS, "List consumers with their allocations.", "GET /insight/consumers"),
    base.operation(FINDINGS, "List what an audit of the database finds.", "GET /insight/findings"),
    base.operation(
        IDENTITY,
        "List the providers that a host name or UUID could mean.",
        "GET /insight/identity",
    ),
    base.operation(
        PERMISSIONS,
        "List which calls of other services the policy allows a set of roles.",
        "GET /insight/permissions",
    ),
)
