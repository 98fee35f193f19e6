"""A MariaDB Galera cluster on loopback: each node accepts writes; commits detect conflicts."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pymysql

from placement.tests.support.servers import MariaDb, Missing, find, free_port

PROVIDER = Path("/usr/lib/galera/libgalera_smm.so")
SECONDS_TO_JOIN = 90
# The defaults of Galera. With shorter ones, a node on a busy machine is removed while another one
# joins: changing the members then takes longer than evs.install_timeout, half of the inactive one.
GROUP_TIMEOUTS = "evs.suspect_timeout=PT5S;evs.inactive_timeout=PT15S;evs.install_timeout=PT7.5S"
SECONDS_TO_CHANGE_MEMBERS = 60


class Node(MariaDb):
    """One node of a cluster; ``group`` has the ports of group communication."""

    def __init__(self, folder: Path, group_port: int, group: list[int]) -> None:
        super().__init__(folder, durable=False)
        self.group_port = group_port
        self.group = group
        self.is_first = False
        self.is_isolated = False
        self.transfer_ports = (free_port(), free_port())

    def _as_root(self) -> list[str]:
        """Not as root: rsync would receive the data as user nobody."""
        return ["--user=mysql"] if os.getuid() == 0 else []

    def initialise(self) -> None:
        if os.getuid() == 0:
            self.folder.parent.chmod(0o755)
            shutil.chown(self.folder, "mysql", "mysql")
        if self.is_first:
            self.create_data()
            return
        data = self.folder / "data"  # another node transfers the data
        data.mkdir()
        if os.getuid() == 0:
            shutil.chown(data, "mysql", "mysql")

    def command(self) -> list[str]:
        if not PROVIDER.exists():
            raise Missing(f"{PROVIDER} is not installed: apt-get install galera-4")
        find("rsync")
        incremental, whole = self.transfer_ports
        listen = f"gmcast.listen_addr=tcp://127.0.0.1:{self.group_port}"
        members = ",".join(f"127.0.0.1:{port}" for port in self.group)
        return [
            *super().command(),
            "--wsrep-on=ON",
            "--binlog-format=ROW",
            "--innodb-autoinc-lock-mode=2",
            f"--wsrep-provider={PROVIDER}",
            f"--wsrep-provider-options={listen};ist.recv_addr=127.0.0.1:{incremental};"
            f"gcache.size=64M;{GROUP_TIMEOUTS}",
            f"--wsrep-node-address=127.0.0.1:{self.group_port}",
            f"--wsrep-sst-receive-address=127.0.0.1:{whole}",
            "--wsrep-sst-method=rsync",
            f"--wsrep-cluster-address=gcomm://{members}",
            *(["--wsrep-new-cluster"] if self.is_first else []),
        ]

    def start(self) -> None:
        """Start the node and wait until it is in sync."""
        super().start()
        self.wait_for_status("wsrep_local_state_comment", "Synced", SECONDS_TO_JOIN)
        self.is_first = False

    def wait_for_status(
        self, name: str, value: str, seconds: float = SECONDS_TO_CHANGE_MEMBERS
    ) -> None:
        """Wait until a status has this value.  Raises: RuntimeError with the log."""
        deadline = time.monotonic() + seconds
        while self.status(name) != value:
            if time.monotonic() > deadline:
                raise RuntimeError(self.log.read_text()[-2000:])
            time.sleep(0.1)

    def quorum_losses(self) -> int:
        """Return how often the node has lost its quorum."""
        return self.log.read_text().count("Received NON-PRIMARY")

    @contextmanager
    def isolated(self) -> Iterator[None]:
        """Cut the node off from the others, and join it again at the end.

        The others keep the quorum; this one has lost it before the block begins.
        """
        self.isolate()
        try:
            self.wait_for_status("wsrep_cluster_status", "non-Primary")
            yield
        finally:
            self.join_again()

    def isolate(self) -> None:
        """Cut the node off; it notices this after the suspect timeout."""
        self.set_provider_option("gmcast.isolate=1")
        self.is_isolated = True

    def join_again(self) -> None:
        """End the isolation, if there is one, and wait until the node can be used.

        A node that has not noticed its isolation still reports that it is in sync.
        """
        if not self.is_isolated:
            return
        self.wait_for_status("wsrep_cluster_status", "non-Primary")
        self.set_provider_option("gmcast.isolate=0")
        self.wait_for_status("wsrep_cluster_status", "Primary", SECONDS_TO_JOIN)
        self.wait_for_status("wsrep_local_state_comment", "Synced", SECONDS_TO_JOIN)
        self.wait_for_status("wsrep_ready", "ON")
        self.is_isolated = False

    def set_provider_option(self, option: str) -> None:
        self.execute(f"SET GLOBAL wsrep_provider_options = '{option}'")

    def status(self, name: str) -> str:
        """Return one of the server's status values, empty if the node does not respond."""
        try:
            return str(self.execute(f"SHOW STATUS LIKE '{name}'")[0][1])
        except pymysql.Error:
            return ""


@contextmanager
def cluster(count: int = 3) -> Iterator[list[Node]]:
    """Run a cluster.  Raises: Missing."""
    folder = Path(tempfile.mkdtemp(prefix="placement-galera-"))
    group = [free_port() for _ in range(count)]
    nodes = [Node(folder / f"node{at}", port, group) for at, port in enumerate(group)]
    try:
        nodes[0].is_first = True
        for node in nodes:
            node.folder.mkdir()
            node.start()
        yield nodes
    finally:
        for node in reversed(nodes):
            node.stop()
        shutil.rmtree(folder, ignore_errors=True)
