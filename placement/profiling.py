"""OSProfiler, if it is installed and [profiler]enabled: traces of requests and SQL statements."""

from typing import Any

from oslo_config import cfg

# Its transactions are not committed with SQLAlchemy 2, and it only logs its errors.
_STORES_NOTHING = "sqlalchemy"


def register_options(conf: cfg.ConfigOpts) -> bool:
    """Register the options of the library and its drivers; return whether it is installed."""
    try:
        from osprofiler import opts  # noqa: PLC0415  an optional library
    except ImportError:
        return False
    for group, options in opts.list_opts():
        conf.register_opts(options, group)
    return True


def is_enabled(conf: cfg.ConfigOpts) -> bool:
    """Return whether the library is installed and enabled."""
    return register_options(conf) and bool(conf.profiler.enabled)


def traces_sql(conf: cfg.ConfigOpts) -> bool:
    """Return whether SQL statements are traced."""
    return is_enabled(conf) and bool(conf.profiler.trace_sqlalchemy)


def start(conf: cfg.ConfigOpts, host: str) -> None:
    """Send the traces of this process where [profiler]connection_string says.

    Raises: RuntimeError if the driver cannot work. The initializer of the library would log the
    error, and trace nothing.
    """
    from osprofiler import notifier, requests, web  # noqa: PLC0415  an optional library

    try:
        driver = _driver(conf, host)
    except Exception as error:
        raise RuntimeError(_unusable(conf.profiler.connection_string, error)) from error
    notifier.set(driver.notify)
    web.enable(conf.profiler.hmac_keys)
    if conf.profiler.trace_requests:
        requests.enable()


def _driver(conf: cfg.ConfigOpts, host: str) -> Any:
    from osprofiler.drivers import base  # noqa: PLC0415

    origin = {"project": "placement", "service": "placement", "host": host}
    driver = base.get_driver(conf.profiler.connection_string, context={}, conf=conf, **origin)
    if driver.get_name() == _STORES_NOTHING:
        raise ValueError("With SQLAlchemy 2, it stores nothing.")
    return driver


def _unusable(connection: str, error: Exception) -> str:
    """Return the message; the connection string may have a password."""
    scheme = connection.partition(":")[0]
    reason = " ".join(str(error).replace(connection, f"{scheme}:").split()).rstrip(".")
    return (
        f"The driver {scheme} in [profiler]connection_string cannot be used: {reason}. Choose "
        "another driver, or set [profiler]enabled = false."
    )
