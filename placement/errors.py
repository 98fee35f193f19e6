"""The table that maps exceptions to HTTP errors: status, error code and headers.

Clients distinguish errors by ``code``, since 1.23; the API reference lists the codes. An
exception that is not in the table is mapped as its nearest base class; a test checks that the
table is complete.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from placement import exception

RETRY_SOON = (("Retry-After", "1"),)


class HttpError(NamedTuple):
    """The status, the error code and additional headers of an error response."""

    status: int
    code: str = "placement.undefined_code"
    headers: tuple[tuple[str, str], ...] = ()


_BAD_REQUEST = HttpError(400)
_NOT_FOUND = HttpError(404)
_CONFLICT = HttpError(409)
_CONCURRENT = HttpError(409, "placement.concurrent_update")
_DUPLICATE = HttpError(409, "placement.duplicate_name")

UNEXPECTED = HttpError(500)

TABLE: Mapping[type[exception.PlacementException], HttpError] = MappingProxyType(
    {
        exception.BadRequest: _BAD_REQUEST,
        exception.DuplicateQueryKey: HttpError(400, "placement.query.duplicate_key"),
        exception.BadQueryValue: HttpError(400, "placement.query.bad_value"),
        exception.MissingQueryValue: HttpError(400, "placement.query.missing_value"),
        exception.InvalidVersion: _BAD_REQUEST,
        exception.PolicyNotAuthorized: HttpError(403),
        exception.RouteNotFound: _NOT_FOUND,
        exception.MethodNotAllowed: HttpError(405),
        exception.NotAcceptable: HttpError(406),
        exception.UnacceptableVersion: HttpError(406),
        exception.RequestBodyTooLarge: HttpError(413),
        exception.RequestUriTooLong: HttpError(414),
        exception.UnsupportedMediaType: HttpError(415),
        exception.RequestHeadTooLarge: HttpError(431),
        exception.ProviderNotFound: _NOT_FOUND,
        exception.DuplicateProvider: _DUPLICATE,
        exception.CannotCreateProvider: _BAD_REQUEST,
        exception.CannotSaveProvider: _BAD_REQUEST,
        exception.ProviderHasChildren: HttpError(
            409, "placement.resource_provider.cannot_delete_parent"
        ),
        exception.ProviderInUse: HttpError(409, "placement.resource_provider.inuse"),
        exception.StaleProviderGeneration: _CONCURRENT,
        exception.StaleGenerationPleaseUpdate: _CONCURRENT,
        exception.StaleConsumerGeneration: _CONCURRENT,
        exception.NegativeCapacity: _BAD_REQUEST,
        exception.InventoryNotFound: _NOT_FOUND,
        exception.InventoryNotFoundForDelete: _NOT_FOUND,
        exception.NoInventoryRecord: _BAD_REQUEST,
        exception.InventoryExists: _CONCURRENT,
        exception.InventoryInUse: HttpError(409, "placement.inventory.inuse"),
        exception.SingleInventoryInUse: _CONCURRENT,
        exception.ResourceClassNotFound: _NOT_FOUND,
        exception.UnknownClassOrTrait: _BAD_REQUEST,
        exception.ResourceClassExists: _CONFLICT,
        exception.ResourceClassNameTaken: _CONFLICT,
        exception.StandardClassNotRenamable: _BAD_REQUEST,
        exception.StandardClassNotDeletable: _BAD_REQUEST,
        exception.ResourceClassInUse: _CONFLICT,
        exception.TraitNotFound: _NOT_FOUND,
        exception.TraitsNotFound: _BAD_REQUEST,
        exception.UnknownRoot: _BAD_REQUEST,
        exception.StandardTraitNotDeletable: _BAD_REQUEST,
        exception.TraitInUse: _CONFLICT,
        exception.NoAllocations: _NOT_FOUND,
        exception.ProviderToAllocateNotFound: _BAD_REQUEST,
        exception.NotAllocatable: _CONFLICT,
        exception.ReshapedProviderNotFound: HttpError(
            400, "placement.resource_provider.not_found"
        ),
        exception.Conflict: _CONCURRENT,
        exception.DatabaseUnavailable: HttpError(503, headers=RETRY_SOON),
        exception.PolicyCheckFailed: HttpError(503, headers=RETRY_SOON),
        exception.SearchDeadlineExceeded: HttpError(503),
        exception.TooManySlowRequests: HttpError(503, headers=RETRY_SOON),
        exception.RequestNotRecorded: _NOT_FOUND,
    }
)


def http_error(error: BaseException) -> HttpError:
    """Return the HTTP error of an exception; 500 for any unexpected exception."""
    for kind in type(error).__mro__:
        if kind in TABLE:
            return TABLE[kind]
    return UNEXPECTED
