"""Consumers as JSON."""

import json
from datetime import datetime

from placement_insight.audit.consumers.model import ListedConsumer

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
    document = json.loads(json.dumps(CONSUMER.as_json()))
    assert ListedConsumer.from_json(document) == CONSUMER


def test_clients_ignore_fields_of_later_releases():
    assert ListedConsumer.from_json(CONSUMER.as_json() | {"added": 1}) == CONSUMER
