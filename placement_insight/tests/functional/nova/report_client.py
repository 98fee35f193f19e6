"""Send requests for candidates, and a claim, as nova sends them.

Run with the Python of an environment that has nova: ``report_client.py URL``. Prints as JSON the
global request id of each, and what nova's client made of the response.
"""

import json
import sys

from keystoneauth1 import adapter, session, token_endpoint
from nova import conf, context, objects
from nova.scheduler import utils
from nova.scheduler.client import report

CONSUMER = "cccccccc-0000-4000-8000-000000000001"


def main(url):
    conf.CONF([], project="nova", default_config_files=[])
    objects.register_all()
    auth = token_endpoint.Token(url, "admin")
    client = report.SchedulerReportClient(
        adapter.Adapter(session.Session(auth=auth), service_type="placement", raise_exc=False)
    )
    first, second = context.get_admin_context(), context.get_admin_context()
    too_large, _, _ = client.get_allocation_candidates(first, request(vcpus=99))
    candidates, _, version = client.get_allocation_candidates(second, request(vcpus=4))
    allocations = candidates[0]["allocations"]
    for allocation in allocations.values():
        allocation["resources"]["VCPU"] = 99
    is_claimed = claim(client, second, candidates[0], version)
    shown = {
        "empty": {"global_id": first.global_id, "candidates": len(too_large)},
        "refused": {"global_id": second.global_id, "is_claimed": is_claimed},
    }
    print(json.dumps(shown))


def request(vcpus):
    """Return what the scheduler asks for, as it makes it of a flavor."""
    flavor = objects.Flavor(vcpus=vcpus, memory_mb=2048, root_gb=10, ephemeral_gb=0, swap=0)
    flavor.extra_specs = {"trait:HW_CPU_X86_AVX2": "required"}
    spec = objects.RequestSpec(
        flavor=flavor,
        image=objects.ImageMeta(properties=objects.ImageMetaProps()),
        requested_resources=[],
        request_level_params=objects.RequestLevelParams(),
        requested_destination=None,
        is_bfv=False,
        limits=objects.SchedulerLimits(),
    )
    return utils.ResourceRequest.from_request_spec(spec)


def claim(client, who, candidate, version):
    """Return whether nova's client says that the claim succeeded."""
    try:
        return client.claim_resources(who, CONSUMER, candidate, "project", "user", version)
    except Exception as error:  # nova raises for some, and returns False for others
        return str(error)


if __name__ == "__main__":
    main(sys.argv[1])
