"""Who may come in: authentication by Keystone, or by anybody's word where there is none."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import webob.exc
from keystonemiddleware import auth_token
from oslo_config import cfg

from placement.http.context import RequestContext
from placement.http.request_log import GLOBAL_REQUEST_ID
from placement.policy import Policy
from placement.wsgi_wrapper import CONTEXT, REQUEST_ID

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

NOAUTH2 = "noauth2"
KEYSTONE = "keystone"

_ADMIN = "admin"


class NoAuth:
    """Believes the token: ``user[:project]``.  For tests, and for clouds of one machine.

    Roles are those of ``x-roles``; without it, the user ``admin`` has the role of that name.
    """

    open_paths = frozenset({"/"})

    def __init__(self, application: "WSGIApplication") -> None:
        self._application = application

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Answer the request, 401 if it has no token."""
        if environ["PATH_INFO"] not in self.open_paths:
            token = environ.get("HTTP_X_AUTH_TOKEN")
            if token is None:
                return _unauthorized(environ, start_response)
            _believe(token, environ)
        return self._application(environ, start_response)


def _unauthorized(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
    answer: WSGIApplication = webob.exc.HTTPUnauthorized()
    return answer(environ, start_response)


def _believe(token: str, environ: "WSGIEnvironment") -> None:
    """Set the headers that Keystone's middleware would."""
    user, _, project = token.partition(":")
    environ["HTTP_X_USER_ID"] = user
    if "HTTP_OPENSTACK_SYSTEM_SCOPE" not in environ:
        environ["HTTP_X_TENANT_ID"] = project or user
    environ.setdefault("HTTP_X_ROLES", _ADMIN if user == _ADMIN else "")


class Keystone:
    """Asks Keystone whose the token is; options are those of [keystone_authtoken]."""

    open_paths = frozenset({"", "/"})

    def __init__(self, application: "WSGIApplication", conf: cfg.ConfigOpts) -> None:
        self._open = application
        self._guarded = auth_token.AuthProtocol(
            Identified(application), {"oslo_config_config": conf}
        )

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Answer the request, 401 if Keystone does not know its token."""
        is_open = environ["PATH_INFO"] in self.open_paths
        answer: WSGIApplication = self._open if is_open else self._guarded
        return answer(environ, start_response)


class Identified:
    """Refuses requests of nobody, which ``delay_auth_decision`` lets the middleware pass on."""

    def __init__(self, application: "WSGIApplication") -> None:
        self._application = application

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Answer the request, 401 if it has no user."""
        if "HTTP_X_USER_ID" not in environ:
            return _unauthorized(environ, start_response)
        return self._application(environ, start_response)


class Caller:
    """Gives the request its context: who calls, by the headers that the authentication set."""

    def __init__(self, application: "WSGIApplication", policy: Policy) -> None:
        self._application = application
        self._policy = policy

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Answer the request."""
        environ[CONTEXT] = RequestContext.from_environ(
            environ,
            policy=self._policy,
            request_id=environ.get(REQUEST_ID),
            global_request_id=environ.get(GLOBAL_REQUEST_ID),
        )
        return self._application(environ, start_response)


def authenticated(
    application: "WSGIApplication", conf: cfg.ConfigOpts, policy: Policy
) -> "WSGIApplication":
    """Return the application behind the authentication that [api]auth_strategy names."""
    caller = Caller(application, policy)
    return NoAuth(caller) if conf.api.auth_strategy == NOAUTH2 else Keystone(caller, conf)
