"""``/reshaper``, since 1.30."""

import webob

from placement import microversion
from placement.objects import reshaper
from placement.parse import reshaper as parse
from placement.policies import reshaper as policies
from placement.wsgi_wrapper import Request, no_content, requires_json


@microversion.version_handler("1.30")
@requires_json
def reshape(request: Request) -> webob.Response:
    """Move inventories and their allocations between providers, in one transaction."""
    request.context.can(policies.RESHAPE)
    command = parse.reshape(request.json_body, request.version)
    with request.services.reports.refusals_of(request, command.claims):
        reshaper.reshape(request.services.store, command)
    return no_content(request)
