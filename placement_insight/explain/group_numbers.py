"""Numbers of groups whose suffix is made for each request.

Nova uses a UUID as the suffix of each PCI device and of each port of Neutron, and sorts the
parameters of the query by it. Sentences call such a group by its number in the query. Requests are
equal if they differ only in such suffixes, and in the order of the parameters.
"""

import re
from dataclasses import replace
from itertools import count

from placement.core.request import CandidateRequest, RequestGroup
from placement.core.text import Names

_HAS_UUID = re.compile("[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


def numbers_of(request: CandidateRequest) -> Names:
    """Return the numbers of the groups with a UUID in their suffix, in the order of the query.

    A number that is the suffix of another group is left out.
    """
    suffixes = [group.suffix for group in request.groups]
    unused = (number for number in map(str, count(1)) if number not in suffixes)
    return {suffix: next(unused) for suffix in suffixes if _HAS_UUID.search(suffix)}


def comparable(request: CandidateRequest, query: str) -> str:
    """Return a text that equal requests have in common: the query if no group has a number."""
    if not numbers_of(request):
        return query
    alike = {
        group.suffix: "&".join(replace(group, suffix="").spelled()) for group in request.groups
    }

    def properties(group: RequestGroup) -> tuple[str, list[list[str]]]:
        subtrees = [named for named in request.same_subtree if group.suffix in named]
        return alike[group.suffix], sorted(
            sorted(alike[suffix] for suffix in named) for named in subtrees
        )

    in_order = replace(request, groups=tuple(sorted(request.groups, key=properties)))
    numbers = numbers_of(in_order)
    parameters = [text for group in in_order.groups for text in group.spelled(numbers)]
    parameters += sorted(each.spelled(names=numbers) for each in request.requirements)
    return f"{'&'.join(parameters)}&limit={request.limit}"
