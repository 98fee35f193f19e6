"""Authentication: by Keystone, or by unchecked tokens for development."""

import pickle
import zlib
from collections.abc import Iterable
from functools import partial
from typing import NoReturn, cast
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import memcache
import webob.exc
from oslo_config import cfg

NOAUTH2 = "noauth2"

_ADMIN = "admin"
_GROUP = "keystone_authtoken"
_CACHE_KEY = "placement.token_cache"


def with_authentication(application: WSGIApplication, conf: cfg.ConfigOpts) -> WSGIApplication:
    """Return the application behind the authentication that [api]auth_strategy selects.

    The versions document needs none.
    """
    if conf.api.auth_strategy == NOAUTH2:
        guarded: WSGIApplication = partial(_without_check, application)
        open_paths = {"/"}
    else:
        guarded, open_paths = with_keystone(application, conf), {"", "/"}

    def authenticated(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] not in open_paths:
            return guarded(environ, start_response)
        _remove_identity(environ)
        return application(environ, start_response)

    return authenticated


def _without_check(
    application: WSGIApplication, environ: WSGIEnvironment, start_response: StartResponse
) -> Iterable[bytes]:
    """Accept every token, read as ``user[:project]``; respond 401 if there is none.

    The header ``x-roles`` sets the roles; without it the user ``admin`` has the role ``admin``.
    """
    token = environ.get("HTTP_X_AUTH_TOKEN")
    if token is None:
        return _unauthorized(environ, start_response)
    user, _, project = token.partition(":")
    environ["HTTP_X_USER_ID"] = user  # as keystonemiddleware
    if "HTTP_OPENSTACK_SYSTEM_SCOPE" not in environ:
        environ["HTTP_X_TENANT_ID"] = project or user
    environ.setdefault("HTTP_X_ROLES", _ADMIN if user == _ADMIN else "")
    return application(environ, start_response)


def _remove_identity(environ: WSGIEnvironment) -> None:
    """Remove the headers of an unauthenticated client that name a user, a project or roles.

    The log would contain their values. All but one begin with ``X-``; no handler that needs no
    authentication reads another header of this kind.
    """
    for name in [name for name in environ if name.startswith("HTTP_X_")]:
        del environ[name]
    environ.pop("HTTP_OPENSTACK_SYSTEM_SCOPE", None)


def _unauthorized(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    response: WSGIApplication = webob.exc.HTTPUnauthorized()
    return response(environ, start_response)


def with_keystone(application: WSGIApplication, conf: cfg.ConfigOpts) -> WSGIApplication:
    """Return the application behind keystonemiddleware, which responds 401 to invalid tokens."""
    # 250 modules, the largest import of a process, which noauth2 does not need.
    from keystonemiddleware import auth_token, opts  # noqa: PLC0415

    for group, options in opts.list_auth_token_opts():
        conf.register_opts(options, group)
    # older releases accept an expired token beside any valid token
    conf.set_default("service_token_roles_required", True, _GROUP)
    guarded = auth_token.AuthProtocol(
        partial(_require_user, application), {"oslo_config_config": conf, "cache": _CACHE_KEY}
    )
    token_cache = _token_cache(conf)  # None: one cache per process

    def handle(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ[_CACHE_KEY] = token_cache
        response: Iterable[bytes] = guarded(environ, start_response)
        return response

    return handle


def _token_cache(conf: cfg.ConfigOpts) -> object | None:
    """Return the client of memcached for keystonemiddleware, None without memcached_servers.

    The clients that keystonemiddleware creates unpickle the values of memcached, before
    [keystone_authtoken]memcache_security_strategy is applied: an attacker who can write to
    memcached, or respond in its place, could run code in this process. Tokens are stored as bytes,
    and this client treats a pickle as a missing value.

    Raises: RuntimeError with TLS or SASL, for which only such clients exist.
    """
    options = conf[_GROUP]
    if not options.memcached_servers:
        return None
    if options.memcache_tls_enabled or options.memcache_sasl_enabled:
        raise RuntimeError(
            "[keystone_authtoken] has memcache_tls_enabled or memcache_sasl_enabled. Their client "
            "executes what memcached returns, so it is not used. Remove both and set "
            "memcache_security_strategy = ENCRYPT with memcache_secret_key, or remove "
            "memcached_servers."
        )
    return cast(
        "object",
        memcache.Client(
            options.memcached_servers,
            dead_retry=options.memcache_pool_dead_retry,
            socket_timeout=options.memcache_pool_socket_timeout,
            unpickler=_refuse_pickle,
            decompressor=_decompressed,
        ),
    )


def _refuse_pickle(_: object) -> NoReturn:
    raise pickle.UnpicklingError("pickles are not read")


def _decompressed(data: bytes) -> bytes:
    """Return a decompressed value, at most as long as a value of memcached may be.

    Raises: OSError; the client then reads no more of this server for memcache_pool_dead_retry.
    """
    stream = zlib.decompressobj()
    try:
        value = stream.decompress(data, memcache.SERVER_MAX_VALUE_LENGTH)
    except zlib.error as error:
        raise OSError(f"memcached returned a value that cannot be decompressed: {error}") from None
    if not stream.eof:
        raise OSError(
            "memcached returned a compressed value that is incomplete or exceeds "
            f"{memcache.SERVER_MAX_VALUE_LENGTH} bytes"
        )
    return value


def check_is_configured(conf: cfg.ConfigOpts) -> None:
    """Check that Keystone is configured.  Raises: RuntimeError."""
    if conf.api.auth_strategy == NOAUTH2:
        return
    from keystoneauth1 import loading  # noqa: PLC0415  as keystonemiddleware above

    loading.register_auth_conf_options(conf, _GROUP)
    options = conf[_GROUP]
    if not (options.auth_type or options.auth_section):
        raise RuntimeError(
            "[api]auth_strategy is keystone, and [keystone_authtoken] has no auth_type. Set "
            "auth_type, auth_url and the credentials of the service user in that section, or "
            "[api]auth_strategy to noauth2 for development."
        )


def _require_user(
    application: WSGIApplication, environ: WSGIEnvironment, start_response: StartResponse
) -> Iterable[bytes]:
    """Refuse requests without a user, which ``delay_auth_decision`` lets pass."""
    if "HTTP_X_USER_ID" not in environ:
        return _unauthorized(environ, start_response)
    return application(environ, start_response)


def keystone_url(conf: cfg.ConfigOpts) -> str | None:
    """Return the URL of Keystone in [keystone_authtoken], None if tokens are not checked by it."""
    if conf.api.auth_strategy == NOAUTH2:
        return None
    from keystoneauth1 import loading  # noqa: PLC0415  as above

    plugin = loading.load_auth_from_conf_options(conf, _GROUP)
    url = getattr(plugin, "auth_url", None)
    return str(url) if url else None
