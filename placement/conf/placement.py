"""[placement]: how candidates are searched, and how allocations are written."""

from oslo_config import cfg

NOBODY = "00000000-0000-0000-0000-000000000000"

group = cfg.OptGroup(
    "placement",
    title="Placement",
    help="How candidates are searched, and how allocations are written.",
)
options = [
    cfg.BoolOpt(
        "randomize_allocation_candidates",
        default=False,
        help="""
Return allocation candidates in random order, and a random choice of them where a limit applies.

If true, equal hosts are used evenly. Where all candidates can be generated within half of
``candidate_search_budget_seconds``, and are no more than 100,000 (or than
``max_allocation_candidates``, if that is set: the first so many are then generated), the answer is
a uniform sample of them, each as likely as any other. Otherwise it is fair over the roots of trees
rather than over candidates: roots and what they offer are shuffled, and each root gives one
candidate in turn.

If false, candidates come in the same order at each request, and a client that takes the first one
packs the hosts.

Related options:

* ``max_allocation_candidates``
* ``allocation_candidates_generation_strategy``
* ``candidate_search_budget_seconds``
""",
    ),
    cfg.StrOpt(
        "incomplete_consumer_project_id",
        default=NOBODY,
        help="""
The project of consumers whose allocations were written by a client that names no project (before
microversion 1.8).
""",
    ),
    cfg.StrOpt(
        "incomplete_consumer_user_id",
        default=NOBODY,
        help="""
The user of consumers whose allocations were written by a client that names no user (before
microversion 1.8).
""",
    ),
    cfg.IntOpt(
        "allocation_conflict_retry_count",
        default=10,
        help="""
How often an allocation is tried to be written, in all, when the database refuses it for a conflict
with another write.

With 0 every write of allocations is answered 409.
""",
    ),
    cfg.IntOpt(
        "max_allocation_candidates",
        default=-1,
        help="""
The largest number of allocation candidates that one request is given; -1 is no limit.

A request that asks for fewer, by its own ``limit``, is given fewer.
""",
    ),
    cfg.StrOpt(
        "allocation_candidates_generation_strategy",
        default="depth-first",
        choices=[
            ("depth-first", "All candidates of one tree of providers, then those of the next."),
            ("breadth-first", "One candidate of each tree in turn."),
        ],
        help="""
From which trees of providers the candidates come if there are more than may be returned.

Depth-first fills the answer with the candidates of the first trees; breadth-first takes candidates
from as many trees as possible.

This is read only where ``max_allocation_candidates`` is set. Without it, an answer to a request
with a ``limit`` has one candidate of each root in turn, and a request without one gets everything.
Roots come in the order in which they were created, those that serve the request by themselves
before trees and those that need shared resources.

Related options:

* ``max_allocation_candidates``
* ``randomize_allocation_candidates``
""",
    ),
    cfg.FloatOpt(
        "candidate_search_budget_seconds",
        default=5.0,
        min=0.0,
        help="""
How long one search for allocation candidates may take before it is given up, answered with 503.

Ordinary requests take milliseconds. The budget is for those whose groups can be combined in so
many ways that no search ends. It holds for writing the answer, too, which matters where there are
hundreds of thousands of candidates.
""",
    ),
]
