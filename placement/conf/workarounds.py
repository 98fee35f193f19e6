"""Options of [workarounds], accepted for compatibility."""

from oslo_config import cfg

group = cfg.OptGroup(
    "workarounds", title="Workarounds", help="Options accepted for compatibility."
)
options = [
    cfg.BoolOpt(
        "optimize_for_wide_provider_trees",
        default=False,
        help="""
Accepted for compatibility and without effect.

Trees with many similar children, such as hosts with many physical devices, need no special
treatment: the cost of a search depends on the candidates that it returns, not on all possible
ones.
""",
    ),
]
