"""The service inside the process of its client, without a server or a port.

For programs and tests of other projects; requires the extra ``fixtures``.
"""

import functools
import threading
import uuid
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from types import TracebackType
from unittest import mock
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import requests
from keystoneauth1 import adapter, session
from oslo_config import cfg
from wsgi_intercept import interceptor

from placement import deploy
from placement.http import auth


def new_url() -> str:
    """Return a unique URL."""
    return f"http://{uuid.uuid4()}/placement"


class CurrentApplication:
    """The application, recreated whenever an option has changed since the last request.

    A deployment reads its options once; tests load the application first and set options later.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._loading = threading.Lock()
        self._application = deploy.loadapp(conf)
        self._values = _values(conf)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Handle the request."""
        return self._current()(environ, start_response)

    def _current(self) -> WSGIApplication:
        with self._loading:
            if self._values != _values(self._conf):
                self._application = deploy.loadapp(self._conf)
                self._values = _values(self._conf)
            return self._application


def _values(conf: cfg.ConfigOpts) -> dict[str, object]:
    """Return the values of all options; a group is an option with the values of its options."""
    return {
        name: dict(value) if isinstance(value, Mapping) else value for name, value in conf.items()
    }


class PlacementDirect(interceptor.RequestsInterceptor):  # type: ignore[misc]
    """A context in which requests of this process reach the service: an Adapter of keystoneauth.

    ``conf`` has the options of the service (``placement.conf.register_opts``) and is parsed, and
    its database is set up (``placement.db_api.configure``). The caller has the role ``admin``.
    Within the context, keystoneauth resolves the endpoint of *every* service to this one.

    ``app`` may be replaced before the context is entered: a function that returns a WSGI
    application.
    """

    def __init__(self, conf: cfg.ConfigOpts, latest_microversion: bool = False) -> None:  # noqa: FBT001, FBT002, RUF100
        conf.set_override("auth_strategy", auth.NOAUTH2, group="api")
        self._patches = ExitStack()
        super().__init__(functools.cache(lambda: CurrentApplication(conf)), url=new_url())
        headers = {"x-auth-token": "admin"}
        if latest_microversion:
            headers["OpenStack-API-Version"] = "placement latest"
        self.adapter = adapter.Adapter(
            session.Session(auth=None, session=requests.Session(), additional_headers=headers),
            service_type="placement",
            raise_exc=False,
        )

    def __enter__(self) -> adapter.Adapter:
        """Intercept requests to the URL, and the lookup of endpoints."""
        super().__enter__()
        lookup = mock.patch.object(session.Session, "get_endpoint", return_value=self.url)
        self._patches.enter_context(lookup)
        return self.adapter

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop intercepting."""
        self._patches.close()
        super().__exit__(kind, error, traceback)
