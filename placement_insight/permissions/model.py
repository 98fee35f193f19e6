"""Which calls of OpenStack services a set of roles may send, by the policy in force.

Sources of the calls: the chapters about Placement in the administrator guides of Nova, Neutron,
Cyborg and Blazar at docs.openstack.org, and the public methods of their clients:
``SchedulerReportClient`` of nova, ``PlacementAPIClient`` of neutron-lib, ``PlacementClient`` of
cyborg, ``BlazarPlacementClient`` of blazar. The purpose is the operation that fails if the call is
refused.
"""

from collections.abc import Sequence
from typing import Final, TypedDict

from placement import exception
from placement.policy import PolicyDecisions
from placement_insight import policies

PROVIDERS: Final = "/resource_providers"
PROVIDER: Final = "/resource_providers/{uuid}"
INVENTORIES: Final = f"{PROVIDER}/inventories"
INVENTORY: Final = f"{INVENTORIES}/{{resource_class}}"
AGGREGATES: Final = f"{PROVIDER}/aggregates"
TRAITS_OF_PROVIDER: Final = f"{PROVIDER}/traits"
ALLOCATIONS_ON_PROVIDER: Final = f"{PROVIDER}/allocations"
ALLOCATIONS: Final = "/allocations"
ALLOCATIONS_OF_CONSUMER: Final = "/allocations/{consumer_uuid}"
TRAITS: Final = "/traits"
TRAIT: Final = "/traits/{name}"
RESOURCE_CLASSES: Final = "/resource_classes"
RESOURCE_CLASS: Final = "/resource_classes/{name}"


class Call(TypedDict):
    """A call of a service: its method, the path template of the API, and its purpose."""

    service: str
    method: str
    path: str
    purpose: str


_NOVA = (
    ("GET", PROVIDERS, "nova-compute reads its tree of providers"),
    ("POST", PROVIDERS, "nova-compute registers a host"),
    ("GET", PROVIDER, "nova-compute reads its provider"),
    ("DELETE", PROVIDER, "nova-api deletes a compute service"),
    ("GET", INVENTORIES, "nova-compute reads the inventory of a host"),
    ("PUT", INVENTORIES, "nova-compute reports the inventory of a host"),
    ("GET", AGGREGATES, "nova-compute and nova-api read the aggregates of a host"),
    ("PUT", AGGREGATES, "nova-api mirrors host aggregates"),
    ("GET", TRAITS_OF_PROVIDER, "nova-compute reads the traits of a host"),
    ("PUT", TRAITS_OF_PROVIDER, "nova-compute reports capabilities, nova-api disables hosts"),
    ("GET", ALLOCATIONS_ON_PROVIDER, "nova-compute finds servers that were deleted or evacuated"),
    ("GET", TRAITS, "nova-compute and nova-scheduler look up traits"),
    ("PUT", TRAIT, "nova-compute creates custom traits"),
    ("PUT", RESOURCE_CLASS, "nova-compute creates custom resource classes"),
    ("GET", "/allocation_candidates", "nova-scheduler finds hosts for a server"),
    ("GET", ALLOCATIONS_OF_CONSUMER, "nova reads the allocations of a server"),
    ("PUT", ALLOCATIONS_OF_CONSUMER, "nova-scheduler claims resources for a server"),
    ("DELETE", ALLOCATIONS_OF_CONSUMER, "nova deletes a server"),
    ("POST", ALLOCATIONS, "nova-conductor moves allocations for a migration"),
    ("GET", "/usages", "nova-api counts usage for quotas, for any project"),
    ("POST", "/reshaper", "nova-compute moves inventories to child providers in an upgrade"),
)
_NEUTRON = (
    ("GET", PROVIDERS, "neutron-server finds providers by name"),
    ("POST", PROVIDERS, "neutron-server registers agents and bridges"),
    ("GET", PROVIDER, "neutron-server reads a provider"),
    ("PUT", PROVIDER, "neutron-server registers agents and bridges again"),
    ("DELETE", PROVIDER, "the segments plugin deletes a segment"),
    ("GET", INVENTORIES, "neutron-server reads inventories"),
    ("PUT", INVENTORIES, "neutron-server reports bandwidth and packet rates"),
    ("POST", INVENTORIES, "the segments plugin creates IPV4_ADDRESS inventories"),
    ("GET", INVENTORY, "the segments plugin reads IPV4_ADDRESS inventories"),
    ("PUT", INVENTORY, "the segments plugin updates IPV4_ADDRESS inventories"),
    ("DELETE", INVENTORY, "the segments plugin deletes IPV4_ADDRESS inventories"),
    ("GET", AGGREGATES, "the segments plugin reads the aggregates of a segment"),
    ("PUT", AGGREGATES, "the segments plugin associates hosts with a segment"),
    ("PUT", TRAITS_OF_PROVIDER, "neutron-server reports physical networks and VNIC types"),
    ("PUT", TRAIT, "neutron-server creates traits for physical networks"),
    ("PUT", RESOURCE_CLASS, "neutron-server creates custom resource classes"),
    ("GET", ALLOCATIONS_OF_CONSUMER, "neutron-server reads the allocations of a port's server"),
    ("PUT", ALLOCATIONS_OF_CONSUMER, "neutron-server changes the bandwidth of a bound port"),
)
_CYBORG = (
    ("GET", PROVIDERS, "cyborg-conductor finds the provider of a host"),
    ("POST", PROVIDERS, "cyborg-conductor registers accelerators"),
    ("GET", PROVIDER, "cyborg-conductor reads the provider of an accelerator"),
    ("DELETE", PROVIDER, "cyborg-conductor removes accelerators"),
    ("GET", INVENTORIES, "cyborg-conductor reads the inventory of an accelerator"),
    ("PUT", INVENTORIES, "cyborg-conductor reports accelerators"),
    ("GET", TRAITS_OF_PROVIDER, "cyborg-conductor reads the traits of an accelerator"),
    ("PUT", TRAITS_OF_PROVIDER, "cyborg-conductor reports the traits of an accelerator"),
    ("PUT", TRAIT, "cyborg-conductor creates custom traits"),
    ("PUT", RESOURCE_CLASS, "cyborg-conductor creates custom resource classes"),
)
_BLAZAR = (
    ("GET", PROVIDERS, "blazar-manager finds the provider of a host"),
    ("POST", PROVIDERS, "blazar-manager registers the reservations of a host"),
    ("GET", PROVIDER, "blazar-manager reads a provider"),
    ("DELETE", PROVIDER, "blazar-manager removes a host"),
    ("GET", INVENTORIES, "blazar-manager reads reserved amounts"),
    ("PUT", INVENTORIES, "blazar-manager adds a reservation to a host"),
    ("DELETE", INVENTORY, "blazar-manager ends a reservation"),
    ("GET", TRAITS_OF_PROVIDER, "blazar-manager reads the traits of a host"),
    ("POST", RESOURCE_CLASSES, "blazar-manager creates the class of a reservation"),
    ("DELETE", RESOURCE_CLASS, "blazar-manager deletes the class of a reservation"),
)

SERVICES: Final = ("nova", "neutron", "cyborg", "blazar")

CALLS: Final = tuple(
    Call(service=service, method=method, path=path, purpose=purpose)
    for service, calls in zip(SERVICES, (_NOVA, _NEUTRON, _CYBORG, _BLAZAR), strict=True)
    for method, path, purpose in calls
)


_OWN_PROJECT = "(the project of the token)"
_REQUESTED_PROJECT = "(another project)"


class CheckedCall(Call):
    """A call, with the rule that decides on it and what the rule needs."""

    rule: str
    allowed: bool
    needs: str


class Permissions(TypedDict):
    """The document of permissions, without its version."""

    roles: Sequence[str]
    project_id: str | None
    unnamed_roles: Sequence[str]
    denied: int
    calls: Sequence[CheckedCall]


def permissions(
    rules: PolicyDecisions,
    roles: Sequence[str],
    *,
    project_id: str | None = None,
    service: str | None = None,
) -> Permissions:
    """Return which calls of the services, or of one, a token with these roles may send.

    The token has the scope of a project, ``project_id`` if given. ``GET /usages`` is checked for
    usages of another project, because services read the usages of all projects.
    ``unnamed_roles`` are the roles that no rule names: they have no effect, or are misspelled.
    """
    named = rules.named_roles()
    calls = [
        _checked(rules, call, roles, project_id)
        for call in CALLS
        if service in (None, call["service"])
    ]
    return {
        "roles": list(roles),
        "project_id": project_id,
        "unnamed_roles": [role for role in roles if role.lower() not in named],
        "denied": sum(not call["allowed"] for call in calls),
        "calls": calls,
    }


def _checked(
    rules: PolicyDecisions, call: Call, roles: Sequence[str], project_id: str | None
) -> CheckedCall:
    rule = _RULES[call["method"], call["path"]]
    project = project_id or _OWN_PROJECT
    caller = {"roles": list(roles), "project_id": project, "user_id": None}
    of_target = _REQUESTED_PROJECT if call["path"] == "/usages" else project
    is_allowed = True
    try:
        rules.authorize(rule, {"project_id": of_target, "user_id": None}, caller)
    except exception.PolicyNotAuthorized:
        is_allowed = False
    return {**call, "rule": rule, "allowed": is_allowed, "needs": rules.requirement(rule)}


_RULES = {
    (operation["method"], operation["path"]): rule.name
    for rule in policies.list_rules()
    for operation in getattr(rule, "operations", ())
}
