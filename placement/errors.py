"""The one table from what went wrong to how HTTP says it.

``code`` is what clients tell errors apart by, since 1.23; the codes are listed in the API
reference. A class that is not in the table is answered as its nearest base is; a test keeps
the table total.
"""

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import NamedTuple

from placement import exception

UNDEFINED = "placement.undefined_code"
CONCURRENT_UPDATE = "placement.concurrent_update"
DUPLICATE_NAME = "placement.duplicate_name"
INVENTORY_IN_USE = "placement.inventory.inuse"
PROVIDER_IN_USE = "placement.resource_provider.inuse"
PROVIDER_CANNOT_DELETE_PARENT = "placement.resource_provider.cannot_delete_parent"
PROVIDER_NOT_FOUND = "placement.resource_provider.not_found"
QUERY_DUPLICATE_KEY = "placement.query.duplicate_key"
QUERY_BAD_VALUE = "placement.query.bad_value"
QUERY_MISSING_VALUE = "placement.query.missing_value"

RETRY_SOON = (("Retry-After", "1"),)


class Wire(NamedTuple):
    """How an error looks on the wire."""

    status: int
    code: str = UNDEFINED
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def title(self) -> str:
        """The phrase of the status: ``Not Found``."""
        return HTTPStatus(self.status).phrase


_BAD_REQUEST = Wire(400)
_NOT_FOUND = Wire(404)
_CONFLICT = Wire(409)
_CONCURRENT = Wire(409, CONCURRENT_UPDATE)

UNEXPECTED = Wire(500)

TABLE: Mapping[type[exception.PlacementException], Wire] = MappingProxyType(
    {
        exception.BadRequest: _BAD_REQUEST,
        exception.DuplicateQueryKey: Wire(400, QUERY_DUPLICATE_KEY),
        exception.BadQueryValue: Wire(400, QUERY_BAD_VALUE),
        exception.MissingQueryValue: Wire(400, QUERY_MISSING_VALUE),
        exception.InvalidVersion: _BAD_REQUEST,
        exception.PolicyNotAuthorized: Wire(403),
        exception.RouteNotFound: _NOT_FOUND,
        exception.MethodNotAllowed: Wire(405),
        exception.NotAcceptable: Wire(406),
        exception.UnacceptableVersion: Wire(406),
        exception.UnsupportedMediaType: Wire(415),
        exception.ProviderNotFound: _NOT_FOUND,
        exception.ProviderNotFoundForDelete: _NOT_FOUND,
        exception.DuplicateProviderUuid: Wire(409, DUPLICATE_NAME),
        exception.DuplicateProviderName: Wire(409, DUPLICATE_NAME),
        exception.CannotCreateProvider: _BAD_REQUEST,
        exception.CannotSaveProvider: _BAD_REQUEST,
        exception.ProviderHasChildren: Wire(409, PROVIDER_CANNOT_DELETE_PARENT),
        exception.ProviderInUse: Wire(409, PROVIDER_IN_USE),
        exception.StaleProviderGeneration: _CONCURRENT,
        exception.StaleGenerationPleaseUpdate: _CONCURRENT,
        exception.StaleConsumerGeneration: _CONCURRENT,
        exception.NegativeCapacity: _BAD_REQUEST,
        exception.InventoryNotFound: _NOT_FOUND,
        exception.InventoryNotFoundForDelete: _NOT_FOUND,
        exception.NoInventoryRecord: _BAD_REQUEST,
        exception.InventoryExists: _CONCURRENT,
        exception.InventoryInUse: Wire(409, INVENTORY_IN_USE),
        exception.SingleInventoryInUse: _CONCURRENT,
        exception.ResourceClassNotFound: _NOT_FOUND,
        exception.UnknownResourceClass: _BAD_REQUEST,
        exception.ResourceClassExists: _CONFLICT,
        exception.ResourceClassNameTaken: _CONFLICT,
        exception.StandardClassNotRenamable: _BAD_REQUEST,
        exception.StandardClassNotDeletable: _BAD_REQUEST,
        exception.ResourceClassInUse: _CONFLICT,
        exception.TraitNotFound: _NOT_FOUND,
        exception.TraitsNotFound: _BAD_REQUEST,
        exception.UnknownTrait: _BAD_REQUEST,
        exception.StandardTraitNotDeletable: _BAD_REQUEST,
        exception.TraitInUse: _CONFLICT,
        exception.NoAllocations: _NOT_FOUND,
        exception.ProviderToAllocateNotFound: _BAD_REQUEST,
        exception.NotAllocatable: _CONFLICT,
        exception.ReshapedProviderNotFound: Wire(400, PROVIDER_NOT_FOUND),
        exception.Conflict: _CONCURRENT,
        exception.DatabaseUnavailable: Wire(503, headers=RETRY_SOON),
        exception.SearchDeadlineExceeded: Wire(503),
    }
)


def wire(error: BaseException) -> Wire:
    """Return how the error looks on the wire: 500 for what nobody foresaw."""
    for kind in type(error).__mro__:
        if kind in TABLE:
            return TABLE[kind]
    return UNEXPECTED
