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
or rename a provider that were refused because the name or UUID was taken;
``GET /insight/identity`` lists them.

A record is written after the response has been sent. Only the next request on the same connection
waits for it. Equal requests of an hour are one record with their number. If a record cannot be
written, it is discarded, and a warning is logged once a minute.
""",
    ),
    cfg.BoolOpt(
        "record_users",
        default=True,
        help="Record the id of the user with each request, and with each refused claim. If "
        "false, requests of a project that differ in the user only are one record. Rows that "
        "exist keep their ids until they are removed: see ``record_max_age_days``. The log has "
        "users in any case.",
    ),
    cfg.IntOpt(
        "record_max_rows",
        default=10_000,
        min=1,
        help="The maximum number of rows in the table. Processes that add rows remove the oldest "
        "rows in batches, so the table can have 50 additional rows per process. A row takes 1 to "
        "80 kB, usually less than 5 kB: the ids of up to 200 equal requests take 25 kB.",
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
The maximum number of empty responses that a process explains per second, and of rows that it adds
per second for empty responses and for refused claims; a burst may have four times as many.
Requests that equal a recorded one of the hour are added to its number. Further requests have no
row of their own: one row for each reason and project has their number.

An explanation takes up to 0.12 s of CPU time with 10,000 hosts of 19 providers each. Fewer empty
responses are explained if the explanations would take more than a twentieth of a processor. The
same limits hold for invalid requests for candidates, whose unknown names are searched.
""",
    ),
    cfg.IntOpt(
        "history_rows",
        default=200_000,
        min=0,
        help="""
The maximum number of changes of allocations that are recorded in the table ``insight_changes``,
and also that of all other changes: changes of allocations never remove those of providers.
``GET /insight/changes`` and ``openstack placement changes`` list them.

A change is recorded in its transaction: no record is lost, and none has changes that were rolled
back. Processes that add rows remove the oldest rows in batches, so the table can have a fortieth
more for each process. A row takes about 0.8 kB, with its indexes. With 0, nothing is recorded, and
a process that starts removes all rows.
""",
    ),
]
