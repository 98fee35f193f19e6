"""``placement-manage db sync`` on a server that refuses GET_LOCK.

So does the strict mode of Percona XtraDB Cluster. Alembic keeps state for the whole process:
concurrent upgrades need processes, not threads.
"""

import os
import subprocess
import sys

import pymysql
import sqlalchemy as sa

from placement.cmd import manage

MESSAGE = "Percona-XtraDB-Cluster prohibits use of GET_LOCK with pxc_strict_mode = ENFORCING"


def forbid_get_lock() -> None:
    """Refuse GET_LOCK on all connections of this process."""
    sa.event.listen(sa.Engine, "do_execute", _refuse_get_lock)


def _refuse_get_lock(_cursor, statement, _parameters, _context) -> None:
    if "GET_LOCK" in statement:
        print("GET_LOCK is refused", flush=True)
        raise pymysql.err.OperationalError(1105, MESSAGE)


def start(url: str, *command: str) -> subprocess.Popen[str]:
    """Start the command, by default this module, with a database."""
    return subprocess.Popen(
        [sys.executable, *(command or ("-m", __spec__.name))],
        env=os.environ | {"OS_PLACEMENT_DATABASE__CONNECTION": url},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


if __name__ == "__main__":
    forbid_get_lock()
    sys.exit(manage.main(["db", "sync"]))
