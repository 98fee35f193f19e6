"""Bodies against their schemas."""

from typing import Any

from placement import exception
from placement.microversion import Version
from placement.parse import validation
from placement.parse.query import canonical_uuid
from placement.schemas.base import Windows


def validators(windows: Windows) -> validation.ValidatorWindows:
    """Return validators of bodies, in which a UUID may be spelled in any way."""
    return validation.validators(windows, lambda text: canonical_uuid(text) is not None)


def checked(windows: validation.ValidatorWindows, document: Any, version: Version) -> Any:
    """Return the document, which is what the schema of the microversion describes.

    Raises: BadRequest.
    """
    mistake = validation.mistake(windows, document, version)
    if mistake is not None:
        raise exception.BadRequest(f"JSON does not validate: {mistake}")
    return document
