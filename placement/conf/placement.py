"""Options of [placement]: the search for candidates, and writes of allocations; [workarounds]."""

from oslo_config import cfg

NOBODY = "00000000-0000-0000-0000-000000000000"

group = cfg.OptGroup(
    "placement",
    title="Placement",
    help="The search for candidates, and writes of allocations.",
)
options = [
    cfg.BoolOpt(
        "randomize_allocation_candidates",
        default=False,
        help="""
Return allocation candidates in random order; with a limit, a random selection of them.

If true, equal hosts are used evenly. If all candidates can be generated within half of
``candidate_search_budget_seconds`` and there are at most 100,000 of them (or
``max_allocation_candidates``, if set: generation then stops at that number), the result is a
uniform sample: each candidate is equally likely. Otherwise the result is fair over root providers
rather than over candidates: roots and their candidates are shuffled, and one candidate is taken
from each root in turn.

If false, equal requests have equal responses until something changes. See
``rotate_limited_candidates`` for responses that leave out hosts.
""",
    ),
    cfg.BoolOpt(
        "rotate_limited_candidates",
        default=True,
        help="""
Select other roots after each change of the cloud if a response leaves out roots.

If ``limit`` or ``max_allocation_candidates`` is less than the number of roots that satisfy a
request, each of them gets its turn: each change of an inventory, an allocation, a trait or an
aggregate selects other roots, scattered over all of them, standalone hosts and trees alike.
Between two changes, equal requests have equal responses, from every process. If false, such a
response always has the first roots in the order of their creation, and the other roots are never
offered.

The option has no effect if nothing is left out, with ``randomize_allocation_candidates``, or if
``max_allocation_candidates`` is set with the strategy depth-first.
""",
    ),
    cfg.StrOpt(
        "incomplete_consumer_project_id",
        default=NOBODY,
        help="The project recorded for consumers whose allocations are written without one "
        "(before microversion 1.8).",
    ),
    cfg.StrOpt(
        "incomplete_consumer_user_id",
        default=NOBODY,
        help="The user recorded for consumers whose allocations are written without one (before "
        "microversion 1.8).",
    ),
    cfg.IntOpt(
        "allocation_conflict_retry_count",
        default=10,
        help="The total number of attempts to write allocations if other writes conflict. If all "
        "attempts conflict, the response is 409. With 0, every write of allocations is refused "
        "with 409.",
    ),
    cfg.IntOpt(
        "max_allocation_candidates",
        default=-1,
        help="""
The maximum number of allocation candidates in one response; -1 means no limit.

The response to a request with a smaller ``limit`` has at most ``limit`` candidates.
""",
    ),
    cfg.StrOpt(
        "allocation_candidates_generation_strategy",
        default="depth-first",
        choices=[
            ("depth-first", "All candidates of one tree, then all candidates of the next tree."),
            ("breadth-first", "One candidate of each tree in turn."),
        ],
        help="""
The provider trees from which candidates are taken if there are more than may be returned.

Depth-first fills the response with the candidates of the first trees; breadth-first takes
candidates from as many trees as possible.

The option applies only if ``max_allocation_candidates`` is set. Otherwise the response to a
request with ``limit`` has one candidate of each root in turn, and the response without ``limit``
has all. Roots are in the order of their creation; roots that satisfy the request by themselves
precede trees and roots that need shared resources. See ``rotate_limited_candidates`` for which
roots are selected if some are left out.
""",
    ),
    cfg.FloatOpt(
        "candidate_search_budget_seconds",
        default=5.0,
        min=0.0,
        help="""
The maximum CPU time of one search for allocation candidates. Longer searches fail with 503, also
those that take more than five times as long because the machine is busy.

Ordinary requests take milliseconds. The limit is for requests whose groups can be combined in more
ways than any search can enumerate. It includes the time to generate the response, which matters
for hundreds of thousands of candidates.
""",
    ),
]

workarounds_group = cfg.OptGroup(
    "workarounds", title="Workarounds", help="Options accepted for compatibility."
)
workarounds = [
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
