"""Explain a query on a world that is given as text."""

import time

from placement.core.search.deadline import Deadline
from placement.microversion import MAX_VERSION
from placement.tests.support.queries import request_of, snapshot_of
from placement_insight.explain.explain import Explanation, Question, explain


def explained(picture, query, version=MAX_VERSION, **options) -> Explanation:
    snapshot = snapshot_of(
        picture,
        traits=["CUSTOM_OFF", "CUSTOM_NOBODY"],
        classes=["VCPU", "CUSTOM_GPU", "CUSTOM_FPGA"],
    )
    question = Question(request_of(query, version), query, version, **options)
    return explain(snapshot, question, Deadline(60, time.monotonic))
