"""Errors of the operator API."""

from placement.exception.base import PlacementException, mistake


@mistake
class RequestNotRecorded(PlacementException):
    """No recorded request has this id."""

    request_id: str

    def __str__(self) -> str:
        return (
            f"No request is recorded with the id {self.request_id}. Recorded are requests that "
            "found no candidates and claims that were refused, within the limits of [insight]. "
            "GET /insight/requests lists them."
        )
