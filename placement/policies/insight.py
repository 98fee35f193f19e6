"""The operator surface under ``/insight``."""

from placement.policies import base

SHOW = base.operation("insight:show", "Show what the operator surface offers.", "GET /insight")
EXPLAIN = base.operation(
    "insight:explanation",
    "Explain where a request for candidates fits, and why it does not elsewhere.",
    "GET /insight/explanation",
)
PROVIDERS = base.operation(
    "insight:providers",
    "List providers with everything they have, or those that changed.",
    "GET /insight/providers",
)
LIST_REQUESTS = base.operation(
    "insight:requests:list",
    "List or count requests that found no candidates, and claims that were refused.",
    "GET /insight/requests",
    "GET /insight/requests/summary",
)
SHOW_REQUEST = base.operation(
    "insight:requests:show",
    "Show what is recorded with a request id.",
    "GET /insight/requests/{request_id}",
)
CAPACITY = base.operation(
    "insight:capacity", "Show how often a shape can still be claimed.", "GET /insight/capacity"
)
CONSUMERS = base.operation(
    "insight:consumers", "List consumers with their allocations.", "GET /insight/consumers"
)
FINDINGS = base.operation(
    "insight:findings", "List what an audit of the database finds.", "GET /insight/findings"
)
IDENTITY = base.operation(
    "insight:identity",
    "List the providers that a host name or UUID could mean.",
    "GET /insight/identity",
)
CLIENTS = base.operation(
    "insight:clients",
    "List which microversions the clients of an API host send.",
    "GET /insight/clients",
)
PERMISSIONS = base.operation(
    "insight:permissions",
    "List which calls of other services the policy allows a set of roles.",
    "GET /insight/permissions",
)
