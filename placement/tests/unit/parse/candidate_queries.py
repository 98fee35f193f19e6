"""Parse a query of GET /allocation_candidates that is given as text."""

from urllib.parse import parse_qsl

from placement.core.request import CandidateRequest
from placement.parse.candidates import candidate_request

A = "aaaaaaaa-1111-2222-3333-444444444444"
B = "bbbbbbbb-1111-2222-3333-444444444444"


def parsed(text: str, minor: int = 39) -> CandidateRequest:
    pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text))
    return candidate_request(pairs, (1, minor))
