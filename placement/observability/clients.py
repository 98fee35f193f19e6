"""The programs that send requests, by their User-Agent: a bounded number of names.

keystoneauth writes the name of the program before its own, such as ``nova-compute
keystoneauth1/5.9.1 python-requests/2.32.3 CPython/3.11.7``. Clients can write any text, so only
the names of known programs are labels of metrics.
"""

import re
from typing import Final

OTHER: Final = "other"
KNOWN: Final = frozenset(
    {
        *("nova-api", "nova-api-wsgi", "nova-compute", "nova-conductor", "nova-manage"),
        *("nova-scheduler", "nova-status"),
        *("neutron-server", "neutron-api", "neutron-rpc-server", "neutron-periodic-workers"),
        *("cyborg-api", "cyborg-agent", "cyborg-conductor", "blazar-api", "blazar-manager"),
        *("watcher-api", "watcher-applier", "watcher-decision-engine", "zun-api", "zun-compute"),
        # servers of WSGI applications, and libraries without the name of a program
        *("uwsgi", "gunicorn", "keystoneauth1", "openstacksdk", "python-requests"),
        *("openstack", "python-openstackclient", "osc-lib", "curl"),
    }
)

_FIRST_WORD = re.compile(r"[^\s/]+")


def client_of(user_agent: str) -> str:
    """Return the name of the program in a User-Agent header, ``other`` if it is not known.

    >>> client_of("nova-scheduler keystoneauth1/5.9.1 python-requests/2.32.3")
    'nova-scheduler'
    >>> client_of("Mozilla/5.0 (X11)")
    'other'
    """
    match = _FIRST_WORD.match(user_agent)
    return match[0] if match and match[0] in KNOWN else OTHER
