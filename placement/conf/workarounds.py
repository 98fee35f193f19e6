"""[workarounds]: options that a deployment may still set."""

from oslo_config import cfg

group = cfg.OptGroup(
    "workarounds", title="Workarounds", help="Options that a deployment may still set."
)
options = [
    cfg.BoolOpt(
        "optimize_for_wide_provider_trees",
        default=False,
        help="""
Accepted for the sake of deployments that set it, and without effect.

Trees with many similar children, such as hosts with many physical devices, need no special
treatment here: a search follows the candidates that it returns, not those that are possible.
""",
    ),
]
