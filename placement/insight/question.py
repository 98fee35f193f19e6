"""What an explanation is requested for."""

from dataclasses import dataclass

from placement.core.request import CandidateRequest


@dataclass(frozen=True, slots=True)
class Question:
    """A request for candidates, with the query string and the microversion that it came in."""

    request: CandidateRequest
    query: str
    microversion: str
