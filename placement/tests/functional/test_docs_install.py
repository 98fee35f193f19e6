"""What the pages on installing say is what works: databases, pools, samples and fragments."""

import os
import re
import shutil
import subprocess
import textwrap
import tomllib

import pytest
from oslo_config import cfg

from placement import conf as placement_conf
from placement import db_api
from placement.cmd import manage
from placement.db.sqlalchemy import engines, migration
from placement.db.sqlalchemy.store import SqlStore
from placement.tests.functional import docs, test_wsgi_servers
from placement.tests.functional.test_wsgi_servers import ask, program, sample, uwsgi_behind_a_proxy

deployed = test_wsgi_servers.deployed
DATABASES = docs.SOURCE / "install" / "databases.rst"
SERVERS = docs.SOURCE / "install" / "servers.rst"
TITLES = {"mariadb": "MariaDB, MySQL", "postgresql": "PostgreSQL", "sqlite": "SQLite"}


def blocks(text, language):
    """Return what stands in the code blocks of a language."""
    found = re.findall(rf"^\.\. code-block:: {language}\n\n((?:   .*\n|\n)+)", text, re.MULTILINE)
    return [textwrap.dedent(block).strip() for block in found]


def section(page, title):
    """Return what stands below a title, until the next."""
    return re.search(
        rf"^{re.escape(title)}\n=+\n(.*?)(?=^[^\n]+\n=+\n|\Z)", page, re.DOTALL | re.MULTILINE
    )[1]


def told(backend, name):
    """Return the statements and the configuration for a database, of another name."""
    text = section(DATABASES.read_text(), TITLES[backend])
    statements = " ".join(blocks(text, "sql")).split(";")
    (configuration,) = blocks(text, "ini")
    return (
        [line.strip().replace("placement", name) for line in statements if line.strip()],
        re.sub(r"(//|/)placement\b", rf"\1{name}", configuration),
    )


def is_served_by(configuration, tmp_path, capsys):
    """Make the tables by the command, and see that they are there."""
    (tmp_path / "placement.conf").write_text(configuration)
    file = ["--config-file", str(tmp_path / "placement.conf")]
    assert manage.main([*file, "db", "sync"]) == 0
    capsys.readouterr()
    assert manage.main([*file, "db", "version"]) == 0
    return capsys.readouterr().out.strip() == migration.head()


@pytest.fixture
def name(worker):
    return f"told_{worker}"


@pytest.fixture
def mariadb(server, name):
    """The run's server, with what was made as told; it is removed at the end."""
    found = server("mariadb")
    statements, _ = told("mariadb", name)
    assert len(statements) == 3
    try:
        for statement in statements:
            found.execute(statement)
        yield found
    finally:
        found.drop(name)
        found.drop(f"{name}_copy")
        found.execute(f"DROP USER IF EXISTS '{name}'@'%'")


def test_mariadb_is_made_as_told(mariadb, name, tmp_path, capsys):
    _, configuration = told("mariadb", name)
    reached = configuration.replace("db.example.org", f"127.0.0.1:{mariadb.port}")
    assert is_served_by(reached, tmp_path, capsys)
    assert restored(mariadb, name) == [migration.head()]


def restored(server, name):
    """Put a backup back into another database; return the revision that is there."""
    copy = f"{name}_copy"
    server.create(copy)
    client = "apt-get install mariadb-client"
    where = ["--no-defaults", "--user=root", "--host=127.0.0.1", f"--port={server.port}"]
    dump = [program("mariadb-dump", client), *where, "--single-transaction", name]
    dumped = subprocess.run(dump, capture_output=True, check=True).stdout
    subprocess.run([program("mariadb", client), *where, copy], input=dumped, check=True)
    return [
        revision for (revision,) in server.execute("SELECT version_num FROM alembic_version", copy)
    ]


def test_moving_over_is_tried_on_a_copy_and_goes_on_with_the_database(mariadb, name, tmp_path):
    store = SqlStore(engines.DatabaseSettings(mariadb.url(name)))
    migration.upgrade(store, migration.COMMON_HEAD)
    script = f"{steps_of_moving(mariadb, name)}\necho ${{OS_PLACEMENT_DATABASE__CONNECTION-unset}}"
    (tmp_path / ".my.cnf").write_text(f"[client]\nsocket = {mariadb.socket}\nuser = root\n")
    path = f"{test_wsgi_servers.BIN}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euc", script],
        env=os.environ | {"HOME": str(tmp_path), "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "unset"
    revision = "SELECT version_num FROM alembic_version"
    assert mariadb.execute(revision, f"{name}_copy") == [(migration.head(),)]
    assert migration.version(store) == migration.COMMON_HEAD
    store.dispose()


def steps_of_moving(server, name):
    """Return the commands of the first step, for another server and another name."""
    page = (docs.SOURCE / "admin" / "moving.rst").read_text()
    block = re.search(r"code-block:: console\n\n(.*?)\n\n#\.", page, re.DOTALL)[1]
    commands = "\n".join(re.findall(r"^ +\$ (.*)$", block, re.MULTILINE))
    renamed = re.sub(r"\bplacement(?=_copy|\.|'| \||:SECRET)", name, commands)
    return renamed.replace("@db/", f"@127.0.0.1:{server.port}/")


def test_postgresql_is_made_as_told(server, name, tmp_path, capsys):
    found = server("postgresql")
    statements, configuration = told("postgresql", name)
    assert len(statements) == 2
    try:
        for statement in statements:
            found.execute(statement)
        reached = configuration.replace("db.example.org", f"127.0.0.1:{found.port}")
        assert is_served_by(reached, tmp_path, capsys)
    finally:
        found.drop(name)
        found.execute(f"DROP USER IF EXISTS {name}")


def test_sqlite_is_made_and_backed_up_as_told(tmp_path, capsys):
    _, configuration = told("sqlite", "placement")
    moved = configuration.replace("/var/lib/placement", str(tmp_path))
    assert is_served_by(moved, tmp_path, capsys)
    (command,) = blocks(section(DATABASES.read_text(), "SQLite"), "console")
    command = command.removeprefix("$ ").replace("/var/lib/placement", str(tmp_path))
    copy = tmp_path / "copy.sqlite"
    command = command.replace("/var/backups/placement.sqlite", str(copy))
    if shutil.which("sqlite3") is None:
        test_wsgi_servers.missing("sqlite3 is not installed: apt-get install sqlite3")
    subprocess.run(command, shell=True, check=True)
    assert is_served_by(f"[placement_database]\nconnection = sqlite:///{copy}\n", tmp_path, capsys)


def test_a_password_is_written_as_told(tmp_path):
    quoted = dict(re.findall(r"``(%..)`` for ``(.)``", DATABASES.read_text()))
    assert quoted == {"%40": "@", "%2F": "/", "%3A": ":"}
    (tmp_path / "placement.conf").write_text(
        "[placement_database]\n"
        f"connection = mysql+pymysql://placement:a{''.join(quoted)}$$b@db/placement\n"
    )
    conf = cfg.ConfigOpts()
    placement_conf.register_opts(conf)
    conf([], default_config_files=[str(tmp_path / "placement.conf")], default_config_dirs=[])
    assert db_api.settings(conf).url.password == f"a{''.join(quoted.values())}$b"


def test_the_pools_are_as_large_as_told():
    text = " ".join(section(DATABASES.read_text(), "How many connections").split())
    size, overflow = re.search(
        r"max_pool_size` is (\d+) and \S*max_overflow` is (\d+)", text
    ).groups()
    threads = int(re.search(r"enough for (\d+) threads", text)[1])
    wait = int(re.search(r"pool_timeout` seconds, (\d+) if", text)[1])
    made = engines.connect(engines.DatabaseSettings("mysql+pymysql://placement@db/placement"))
    for pool in (made.reader.pool, made.writer.pool):
        assert (pool.size(), pool._max_overflow) == (int(size), int(overflow))
        assert pool._timeout == wait
    assert made.reader.pool is not made.writer.pool
    assert threads == int(size) + int(overflow)


def test_sqlite_has_one_pool(tmp_path):
    made = engines.connect(engines.DatabaseSettings(f"sqlite:///{tmp_path}/a"))
    assert made.reader is made.writer


# --- samples ------------------------------------------------------------------------------


def samples():
    folder = docs.ROOT / "etc"
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_each_sample_is_listed():
    listed = re.findall(r"^``(\S+/\S+)`` ", SERVERS.read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(samples() - generated())


def generated():
    return {"placement/placement.conf.sample", "placement/policy.yaml.sample"}


def test_each_sample_is_installed_where_it_is_told_to_be():
    settings = tomllib.loads((docs.ROOT / "pyproject.toml").read_text())
    installed = {
        f"{folder.removeprefix('share/placement/')}/{path.name}"
        for folder, patterns in settings["tool"]["setuptools"]["data-files"].items()
        for pattern in patterns
        for path in docs.ROOT.glob(pattern)
    }
    assert installed == samples() - generated()


def test_what_is_shown_of_the_sample_for_uwsgi_is_in_it():
    (shown,) = [block for block in blocks(SERVERS.read_text(), "ini") if "[uwsgi]" in block]
    assert set(shown.splitlines()) <= set(sample("uwsgi/placement-api.ini").splitlines())


def behind_a_proxy_with_figures(deployed):
    """Start uWSGI with /metrics; return the path of its socket."""
    with (deployed.folder / "placement.conf").open("a") as file:
        file.write(f"[metrics]\nenabled = true\nfolder = {deployed.folder}/figures\n")
    return uwsgi_behind_a_proxy(deployed)


def keeps_figures_from_others(deployed):
    deployed.wait("/placement/")
    assert ask(deployed, "GET", "/placement/metrics").status_code == 403
    assert ask(deployed, "GET", "/placement/traits").status_code == 200


@pytest.mark.parametrize("backend", ["sqlite"])
def test_nginx_keeps_figures_from_others_as_told(deployed):
    nginx = program("nginx", "apt-get install nginx-light")
    path = behind_a_proxy_with_figures(deployed)
    (fragment,) = blocks(section(SERVERS.read_text(), "Behind a proxy"), "nginx")
    site = sample(
        "nginx/placement-api.conf",
        listen=("listen 8778", f"listen {deployed.address}"),
        fragment=("    location /placement {", f"{fragment}\n    location /placement {{"),
    ).replace("/run/placement/uwsgi.sock", str(path))
    test_wsgi_servers.start_nginx(deployed, nginx, site)
    keeps_figures_from_others(deployed)


@pytest.mark.parametrize("backend", ["sqlite"])
def test_apache_keeps_figures_from_others_as_told(deployed):
    path = behind_a_proxy_with_figures(deployed)
    (fragment,) = blocks(section(SERVERS.read_text(), "Behind a proxy"), "apache")
    end = "</VirtualHost>"
    test_wsgi_servers.apache_before(
        deployed, path, "authz_host", fragment=(end, f"{fragment}\n{end}")
    )
    keeps_figures_from_others(deployed)
