"""[api]: who may come in."""

from oslo_config import cfg

group = cfg.OptGroup("api", title="API", help="Who may come in.")
options = [
    cfg.StrOpt(
        "auth_strategy",
        default="keystone",
        choices=[
            ("keystone", "Ask Keystone, as [keystone_authtoken] says."),
            ("noauth2", "Believe every token. For tests and development only."),
        ],
        deprecated_group="DEFAULT",
        help="""
How callers are authenticated.

With ``noauth2`` a token is not checked: ``user`` or ``user:project`` is who the caller says it is,
and the user ``admin`` has the role ``admin``.
""",
    ),
]
