"""Consumers as JSON."""

import json
from datetime import datetime

from placement.insight.consumers.model import (
    ConsumerPage,
    ListedConsumer,
    consumers_document,
    from_document,
)

CONSUMER = ListedConsumer(
    uuid="5e08ea53-c4c6-448e-9334-ac4953de3cf1",
    project_id="demo",
    user_id=None,
    type="INSTANCE",
    generation=3,
    created_at=datetime(2026, 11, 20, 17, 0, 9),
    updated_at=None,
    allocations={"a7c1f9e2-5b34-4c68-9d0e-2f4b6a8c0d10": {"VCPU": 4}},
    providers={"a7c1f9e2-5b34-4c68-9d0e-2f4b6a8c0d10": "cn1"},
)


def test_clients_read_what_the_service_returns():
    (document,) = json.loads(consumers_document(ConsumerPage([CONSUMER], None)))["consumers"]
    assert from_document(document) == CONSUMER


def test_clients_ignore_fields_of_later_releases():
    (document,) = json.loads(consumers_document(ConsumerPage([CONSUMER], None)))["consumers"]
    assert from_document(document | {"added": 1}) == CONSUMER
