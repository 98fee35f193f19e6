"""Authentication: by Keystone, or by unchecked tokens for development."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import webob.exc
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
_GROUP = "keystone_authtoken"


class NoAuth:
    """Accepts every token, read as ``user[:project]``.  For tests and development.

    The header ``x-roles`` sets the roles; without it the user ``admin`` has the role ``admin``.
    """

    open_paths = frozenset({"/"})

    def __init__(self, application: "WSGIApplication") -> None:
        self._application = application

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Handle the request; respond 401 if it has no token."""
        if environ["PATH_INFO"] not in self.open_paths:
            token = environ.get("HTTP_X_AUTH_TOKEN")
            if token is None:
                return _unauthorized(environ, start_response)
            _set_identity_headers(token, environ)
        return self._application(environ, start_response)


def _unauthorized(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
    response: WSGIApplication = webob.exc.HTTPUnauthorized()
    return response(environ, start_response)


def _set_identity_headers(token: str, environ: "WSGIEnvironment") -> None:
    """Set the headers that keystonemiddleware sets."""
    user, _, project = token.partition(":")
    environ["HTTP_X_USER_ID"] = user
    if "HTTP_OPENSTACK_SYSTEM_SCOPE" not in environ:
        environ["HTTP_X_TENANT_ID"] = project or user
    environ.setdefault("HTTP_X_ROLES", _ADMIN if user == _ADMIN else "")


class Keystone:
    """Authenticates by keystonemiddleware, with the options of [keystone_authtoken]."""

    open_paths = frozenset({"", "/"})

    def __init__(self, application: "WSGIApplication", conf: cfg.ConfigOpts) -> None:
        # Importing it takes a sixth of the start-up of a process, which noauth2 does not need.
        from keystonemiddleware import auth_token  # noqa: PLC0415

        self._application = application
        self._guarded = auth_token.AuthProtocol(
            RequireUser(application), {"oslo_config_config": conf}
        )

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Handle the request; respond 401 if its token is not valid."""
        is_open = environ["PATH_INFO"] in self.open_paths
        application: WSGIApplication = self._application if is_open else self._guarded
        return application(environ, start_response)


class AuthenticationNotConfigured(RuntimeError):  # noqa: N818
    """The options of [keystone_authtoken] are missing."""


def check_is_configured(conf: cfg.ConfigOpts) -> None:
    """Check that Keystone can be asked about tokens.  Raises: AuthenticationNotConfigured."""
    if conf.api.auth_strategy == NOAUTH2:
        return
    from keystoneauth1 import loading  # noqa: PLC0415  as keystonemiddleware above

    loading.register_auth_conf_options(conf, _GROUP)
    options = conf[_GROUP]
    if not (options.auth_type or options.auth_section):
        raise AuthenticationNotConfigured(
            "[api]auth_strategy is keystone, and [keystone_authtoken] has no auth_type. Set "
            "auth_type, auth_url and the credentials of the service user in that section, or "
            "[api]auth_strategy to noauth2 for development."
        )


class RequireUser:
    """Refuses requests without a user, which ``delay_auth_decision`` lets pass."""

    def __init__(self, application: "WSGIApplication") -> None:
        self._application = application

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Handle the request; respond 401 if it has no user."""
        if "HTTP_X_USER_ID" not in environ:
            return _unauthorized(environ, start_response)
        return self._application(environ, start_response)


class ContextMiddleware:
    """Sets the request context from the headers that the authentication set."""

    def __init__(self, application: "WSGIApplication", policy: Policy) -> None:
        self._application = application
        self._policy = policy

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Handle the request."""
        environ[CONTEXT] = RequestContext.from_environ(
            environ,
            policy=self._policy,
            request_id=environ.get(REQUEST_ID),
            global_request_id=environ.get(GLOBAL_REQUEST_ID),
        )
        return self._application(environ, start_response)


def with_authentication(
    application: "WSGIApplication", conf: cfg.ConfigOpts, policy: Policy
) -> "WSGIApplication":
    """Return the application behind the authentication that [api]auth_strategy selects."""
    application = ContextMiddleware(application, policy)
    if conf.api.auth_strategy == NOAUTH2:
        return NoAuth(application)
    return Keystone(application, conf)
