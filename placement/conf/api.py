"""Options of [api]: authentication."""

from oslo_config import cfg

group = cfg.OptGroup("api", title="API", help="Authentication of callers.")
options = [
    cfg.StrOpt(
        "auth_strategy",
        default="keystone",
        choices=[
            ("keystone", "Authenticate with Keystone; see [keystone_authtoken]."),
            ("noauth2", "Accept every token. For tests and development only."),
        ],
        deprecated_group="DEFAULT",
        help="""
How callers are authenticated.

With ``noauth2`` tokens are not checked: the token is ``user`` or ``user:project``, and the user
``admin`` has the role ``admin``.
""",
    ),
    cfg.IntOpt(
        "max_request_body_size",
        default=16 * 2**20,
        min=1024,
        help="The maximum size of a request body, in bytes. Larger requests are refused with 413 "
        "before the body is read.",
    ),
]
