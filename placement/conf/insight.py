"""[insight]: what operators see beside the Placement API."""

from oslo_config import cfg

group = cfg.OptGroup("insight", title="Insight", help="Explanations, records and the dashboard.")
options = [
    cfg.BoolOpt(
        "page",
        default=False,
        help="""
Serve the dashboard at ``/insight/page/``.

Its files are served without authentication; they hold no data of the cloud. The routes that the
page reads need the same credentials as always. With Keystone, ``openstack placement dashboard``
serves the page on the loopback address with the credentials of the operator; behind an
authenticating proxy, set this option.
""",
    ),
    cfg.BoolOpt(
        "record",
        default=True,
        help="""
Record each request that found no allocation candidates, and each claim that was refused, with the
reason, in the table ``insight_requests``. ``GET /insight/requests`` lists them. Providers that
were refused because their name or UUID was taken are recorded there, too, each once an hour;
``GET /insight/identity`` lists them.

A record is written after the response has been sent. If it cannot be written it is dropped, and a
warning is logged once a minute; no response fails or waits for it.
""",
    ),
    cfg.IntOpt(
        "record_max_rows",
        default=10_000,
        min=1,
        help="""
The most rows to keep. Processes that add rows remove the oldest beyond this number, in batches, so
that the table may have 50 rows more for each process. A row takes 1 to 60 kB, usually less than 5.
""",
    ),
    cfg.IntOpt(
        "record_max_age_days",
        default=30,
        min=1,
        help="How long to keep a row, in days. Older rows are removed when new ones are added.",
    ),
    cfg.IntOpt(
        "record_per_second",
        default=5,
        min=1,
        help="""
The most empty responses that a process explains and records in a second, and the most refused
claims. What comes beyond that is logged in one line without an explanation, and not recorded.
An explanation takes up to 45 ms of CPU time with 10,000 hosts of 19 providers each. In such clouds
a smaller number keeps processes free for requests.
""",
    ),
]
