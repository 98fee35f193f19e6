"""Fills an empty database with the demo cloud, and records requests that are refused."""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from wsgiref.types import WSGIApplication

import sqlalchemy as sa
import webob

from placement.db import tables
from placement.db.store import Store
from placement.demo.cloud import Cloud, cloud
from placement.demo.database import load

_QUERIES: Final = (
    "resources=VCPU:16,MEMORY_MB:32768,CUSTOM_GPU:3&required=CUSTOM_GPU_HOST",
    "resources=VCPU:4,MEMORY_MB:8192,DISK_GB:200000",
    "resources=VCPU:8,MEMORY_MB:16384&required=CUSTOM_NVIDIA_H100",
    "resources1=VGPU:4&resources2=VGPU:4&resources3=VGPU:4&group_policy=isolate",
    "resources=PCPU:32&required=HW_CPU_X86_AVX512F&root_required=!COMPUTE_STATUS_DISABLED",
)
_HEADERS: Final = {
    "X-Auth-Token": "admin",
    "OpenStack-API-Version": "placement latest",
    "User-Agent": "nova-scheduler demo",
}
_TOO_MUCH: Final = 100_000


def fill(store: Store, application: WSGIApplication, hosts: int) -> bool:
    """Write the cloud, and send requests that fail; return False if there are providers.

    The application accepts any token.
    """
    with store.read() as tx:
        if tx.connection.scalar(sa.select(tables.resource_providers.c.id).limit(1)) is not None:
            return False
    built = cloud(hosts)
    load(store, built)
    for request in (*map(_search, _QUERIES), *_claims(built)):
        _ = request.get_response(application).body  # requests are recorded after the response
    return True


def _search(query: str) -> webob.Request:
    return webob.Request.blank(f"/allocation_candidates?{query}", headers=_HEADERS)


def _claims(built: Cloud) -> Iterator[webob.Request]:
    """Yield claims of servers that exist for more than their hosts have."""
    of_servers = [each for each in built.consumers if each.type == "INSTANCE"]
    for consumer in of_servers[:3]:
        provider = next(iter(consumer.allocations))
        claim: Mapping[str, Any] = {
            "allocations": {provider: {"resources": {"VCPU": _TOO_MUCH}}},
            "project_id": consumer.project,
            "user_id": "nova",
            "consumer_generation": 1,
            "consumer_type": "INSTANCE",
        }
        path = f"/allocations/{consumer.uuid}"
        headers = {**_HEADERS, "Content-Type": "application/json"}
        yield webob.Request.blank(path, method="PUT", headers=headers, json=claim)
