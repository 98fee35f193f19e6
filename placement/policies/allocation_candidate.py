"""Allocation candidates."""

from placement.policies import base

PREFIX = "placement:allocation_candidates:"
LIST = PREFIX + "list"

RULES = (base.operation(LIST, "List allocation candidates.", ("GET", "/allocation_candidates")),)
