"""Validates request bodies."""

from typing import Any

from placement import exception
from placement.core.uuids import canonical_uuid
from placement.microversion import Version
from placement.parse import validation
from placement.schemas.base import Windows


def validators(windows: Windows) -> validation.ValidatorWindows:
    """Return validators of bodies, in which a UUID may have any accepted spelling."""
    return validation.validators(windows, lambda text: canonical_uuid(text) is not None)


def validate(windows: validation.ValidatorWindows, document: Any, version: Version) -> Any:
    """Return the document if it is valid according to the schema of the microversion.

    Raises: BadRequest.
    """
    message = validation.error_message(windows, document, version)
    if message is not None:
        raise exception.BadRequest(f"JSON does not validate: {message}")
    return document
