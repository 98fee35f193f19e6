"""What can go wrong with the operator surface."""

from placement.exception.base import PlacementException, mistake


@mistake
class RequestNotRecorded(PlacementException):
    """Nothing is recorded with a request id."""

    request_id: str

    def __str__(self) -> str:
        return (
            f"No request is recorded with the id {self.request_id}. Recorded are requests that "
            "found no candidates and claims that were refused, within the limits of [insight]. "
            "GET /insight/requests lists them."
        )
