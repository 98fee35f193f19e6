"""The operator surface under ``/insight``."""

from placement.policies import base

PREFIX = "placement:insight:"
SHOW = PREFIX + "show"
EXPLAIN = PREFIX + "explanation"
PROVIDERS = PREFIX + "providers"
CAPACITY = PREFIX + "capacity"
CONSUMERS = PREFIX + "consumers"

RULES = (
    base.operation(SHOW, "Show what the operator surface offers.", ("GET", "/insight")),
    base.operation(
        EXPLAIN,
        "Explain where a request for candidates fits, and why it does not elsewhere.",
        ("GET", "/insight/explanation"),
    ),
    base.operation(
        PROVIDERS,
        "List providers with everything they have, or those that changed.",
        ("GET", "/insight/providers"),
    ),
)
