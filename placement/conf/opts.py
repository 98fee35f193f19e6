"""The options, for oslo-config-generator."""

from collections.abc import Sequence

from oslo_config import cfg
from oslo_policy import opts as policy_opts

from placement import conf


def list_opts() -> Sequence[tuple[cfg.OptGroup | None, Sequence[cfg.Opt]]]:
    """Return the options of the service by group."""
    return conf.all_groups()


def set_defaults() -> None:
    """Set this service's defaults of other libraries' options, for the sample file."""
    policy_opts.set_defaults(
        cfg.ConfigOpts(), policy_file="policy.yaml", remote_timeout=conf.POLICY_TIMEOUT_SECONDS
    )
    conf.set_middleware_defaults()
