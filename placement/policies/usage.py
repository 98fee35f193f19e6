"""Used amounts: on a resource provider, and by a project."""

from placement.policies import base

OF_PROVIDER = "placement:resource_providers:usages"
OF_PROJECT = "placement:usages"

RULES = (
    base.operation(
        OF_PROVIDER,
        "Show what is used on a resource provider.",
        ("GET", "/resource_providers/{uuid}/usages"),
    ),
    base.operation(
        OF_PROJECT,
        "Show what a project uses; a reader of that project may, too.",
        ("GET", "/usages"),
        check=base.ADMIN_OR_PROJECT_READER_OR_SERVICE,
    ),
)
