"""[insight]: what operators see beside the Placement API."""

from oslo_config import cfg

group = cfg.OptGroup("insight", title="Insight", help="Explanations, records and the dashboard.")
options = [
    cfg.BoolOpt(
        "page",
        default=False,
        help="""
Serve the dashboard at ``/insight/page/``.

Its files are served without authentication; they contain no data of the cloud. The routes that the
page reads still require a token. Set this option if a proxy authenticates users and adds a token
to their requests. Otherwise use ``openstack placement dashboard``, which serves the page on the
loopback address with the credentials of the operator.
""",
    ),
    cfg.BoolOpt(
        "record",
        default=True,
        help="""
Record requests without allocation candidates and refused claims, with their reasons, in the table
``insight_requests``. ``GET /insight/requests`` lists them. The table also has requests to create
or rename a provider that were refused because the name or UUID was taken, each once an hour;
``GET /insight/identity`` lists them.

A record is written after the response has been sent. Only the next request on the same connection
waits for it. If a record cannot be written, it is discarded, and a warning is logged once a
minute.
""",
    ),
    cfg.IntOpt(
        "record_max_rows",
        default=10_000,
        min=1,
        help="""
The maximum number of rows in the table. Processes that add rows remove the oldest rows in batches,
so the table can have 50 additional rows per process. A row takes 1 to 60 kB, usually less than
5 kB.
""",
    ),
    cfg.IntOpt(
        "record_max_age_days",
        default=30,
        min=1,
        help="The maximum age of a row, in days. Older rows are removed when new rows are added.",
    ),
    cfg.IntOpt(
        "record_per_second",
        default=5,
        min=1,
        help="""
The maximum number of empty responses that a process explains and records per second, and the
maximum number of refused claims that it records per second. Further empty responses and refused
claims are logged in one line without an explanation, and are not recorded.

An explanation takes up to 0.12 s of CPU time with 10,000 hosts of 19 providers each. Fewer empty
responses are explained if the explanations would take more than a twentieth of a processor. The
same limits hold for invalid requests for candidates, whose unknown names are searched.
""",
    ),
]
