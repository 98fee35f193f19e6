"""A small service with the real edge: handlers of every kind, and nothing behind them."""

import webtest
from keystonemiddleware import opts as auth_token_opts
from oslo_config import cfg
from oslo_middleware import cors, http_proxy_to_wsgi
from oslo_policy import opts as policy_opts

from placement import conf as options
from placement import exception, microversion, policies, profiling
from placement.core.model import IncompleteConsumer
from placement.core.request import SearchSettings
from placement.events import Observer
from placement.handler import PlacementHandler
from placement.handlers import root
from placement.http import middleware
from placement.http.request import Services, accepts_json, requires_json
from placement.http.response import json_response, no_content
from placement.policy import Policy

ADMIN = {"X-Auth-Token": "admin"}
LATEST = ADMIN | {"OpenStack-API-Version": "placement latest"}


@accepts_json
def show(request):
    request.can(policies.SHOW_PROVIDER)
    return json_response(request, {"uuid": request.route["uuid"]})


@requires_json
def replace(request):
    request.can(policies.UPDATE_PROVIDER)
    assert request.json_body is not Ellipsis
    return no_content(request)


@microversion.version_handler("1.5", status=405)
def delete(request):
    raise ZeroDivisionError("divided <b>by\nzero")


def _create(request):
    return no_content(request, status=201, modified_at=None, location="/things/a b")


create = microversion.by_version({("1.2", "1.6"): _create})


def usages(request):
    request.can(policies.SHOW_USAGES_OF_PROJECT)
    return json_response(request, b"{}", modified_at=None)


def unavailable(request):
    raise exception.DatabaseUnavailable("gone fishing")


DECLARATIONS = {
    "": {"GET": root.show},
    "/": {"GET": root.show},
    "/things": {"GET": usages, "POST": create},
    "/things/{uuid}": {"GET": show, "DELETE": delete, "PUT": replace},
    "/unavailable": {"GET": unavailable},
}


def configured(**overrides):
    """Return a configuration; ``group__option=value`` sets what is not default."""
    conf = cfg.ConfigOpts()
    options.register_opts(conf)
    conf.register_opts(cors.OPTS, "cors")
    conf.register_opts(http_proxy_to_wsgi.OPTS, "oslo_middleware")
    for group, middleware_options in auth_token_opts.list_auth_token_opts():
        conf.register_opts(middleware_options, group)
    policy_opts.set_defaults(conf)
    profiling.register_options(conf)
    defaults = {"api__auth_strategy": "noauth2", "placement_database__connection": "sqlite://"}
    for name, value in (defaults | overrides).items():
        group, option = name.split("__")
        conf.set_override(option, value, group)
    conf([], project="placement", default_config_files=[], default_config_dirs=[])
    return conf


def application(conf):
    parts = Services(
        store=None,
        store_for_allocations=None,
        engine=None,
        policy=Policy(conf),
        search=SearchSettings(),
        incomplete_consumer=IncompleteConsumer("p", "u"),
        reports=None,
        observer=Observer(),
    )
    return middleware.pipeline(PlacementHandler(parts, DECLARATIONS), conf)


class Client(webtest.TestApp):
    """A client that takes any status where the test names none."""

    __test__ = False

    def do_request(self, req, status=None, expect_errors=None):
        return super().do_request(req, status=status or "*", expect_errors=expect_errors)


def service(**overrides):
    return Client(application(configured(**overrides)))
