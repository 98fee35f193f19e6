"""Reshaping: moving inventories and the allocations on them between providers."""

from placement.policies import base

RESHAPE = "placement:reshaper:reshape"

RULES = (
    base.operation(
        RESHAPE,
        "Move inventories and allocations between the providers of a tree.",
        ("POST", "/reshaper"),
        check=base.SERVICE,
    ),
)
