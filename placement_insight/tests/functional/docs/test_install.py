"""The pages on installation and migration: databases, pools, samples and fragments work."""

import re
import shutil
import subprocess
import textwrap
import tomllib

import pytest
from oslo_config import cfg
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from placement import conf as placement_conf
from placement import db_api
from placement.cmd import manage
from placement.db.connections import pools
from placement.db.schema import migration
from placement.db.settings import DatabaseSettings
from placement.tests.support import docs
from placement.tests.support.processes import (
    BIN,
    program,
    sample,
    start_apache_proxy,
    start_nginx,
    start_uwsgi_behind_proxy,
)
from placement_insight.tests.functional.docs.pages import executed

DATABASES = docs.SOURCE / "install" / "databases.rst"
SERVERS = docs.SOURCE / "install" / "servers.rst"
GENERATORS = executed("configuration/index", "Sample configuration and policy files")[:2]
VALIDATION = executed("configuration/index", "Validation")
TITLES = {"mariadb": "MariaDB, MySQL", "postgresql": "PostgreSQL", "sqlite": "SQLite"}


def blocks(text, language):
    """Return the code blocks of a language."""
    contents = re.findall(
        rf"^\.\. code-block:: {language}\n\n((?:   .*\n|\n)+)", text, re.MULTILINE
    )
    return [textwrap.dedent(block).strip() for block in contents]


def section(page, title):
    """Return the text of a section."""
    return re.search(
        rf"^{re.escape(title)}\n=+\n(.*?)(?=^[^\n]+\n=+\n|\Z)", page, re.DOTALL | re.MULTILINE
    )[1]


def documented(backend, name):
    """Return the documented statements and configuration, with another database name.

    The first configuration is that of the service, the second that of the owner of the tables.
    """
    text = section(DATABASES.read_text(), TITLES[backend])
    statements = " ".join(blocks(text, "sql")).split(";")
    (configuration,) = blocks(text, "ini")
    renamed = re.sub(r"(//|/)placement\b", rf"\1{name}", configuration)
    return (
        [line.strip().replace("placement", name) for line in statements if line.strip()],
        (renamed, renamed.replace(f"{name}:SECRET", f"{name}_owner:OWNER_SECRET")),
    )


def is_served_by(configurations, tmp_path, capsys):
    """Create the tables as their owner; return whether the service reads the latest revision."""
    files = tmp_path / "placement.conf", tmp_path / "owner.conf"
    for file, configuration in zip(files, configurations, strict=True):
        file.write_text(configuration)
    assert manage.main(["--config-file", str(files[1]), "db", "sync"]) == 0
    capsys.readouterr()
    assert manage.main(["--config-file", str(files[0]), "db", "version"]) == 0
    return capsys.readouterr().out.strip() == migration.HEAD


@pytest.fixture
def name(worker):
    return f"documented_{worker}"


@pytest.fixture
def mariadb(server, name):
    """The server of the run, with the documented database and user until the end of the test."""
    database_server = server("mariadb")
    statements, _ = documented("mariadb", name)
    assert len(statements) == 5
    try:
        for statement in statements:
            database_server.execute(statement)
        yield database_server
    finally:
        database_server.drop(name)
        database_server.drop(f"{name}_copy")
        database_server.execute(f"DROP USER IF EXISTS '{name}'@'%', '{name}_owner'@'%'")


@pytest.mark.long
def test_mariadb_is_set_up_as_documented(mariadb, name, tmp_path, capsys):
    _, configurations = documented("mariadb", name)
    reached = at(configurations, mariadb)
    assert is_served_by(reached, tmp_path, capsys)
    assert restored(mariadb, name) == [migration.HEAD]


def at(configurations, server):
    return [text.replace("db.example.org", f"127.0.0.1:{server.port}") for text in configurations]


def restored(server, name):
    """Restore a backup into another database; return its revision."""
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


@pytest.mark.long
def test_postgresql_is_set_up_as_documented(server, name, tmp_path, capsys):
    database_server = server("postgresql")
    statements, configurations = documented("postgresql", name)
    assert len(statements) == 5
    try:
        for statement in statements:
            database_server.execute(statement, name if statement.startswith("ALTER") else None)
        assert is_served_by(at(configurations, database_server), tmp_path, capsys)
    finally:
        database_server.drop(name)
        database_server.execute(f"DROP USER IF EXISTS {name}, {name}_owner")


def test_sqlite_is_set_up_as_documented(tmp_path, capsys):
    _, configurations = documented("sqlite", "placement")
    moved = [text.replace("/var/lib/placement", str(tmp_path)) for text in configurations]
    assert is_served_by(moved, tmp_path, capsys)


def test_a_password_is_quoted_as_documented(tmp_path):
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


def test_pool_sizes_are_those_documented():
    text = " ".join(section(DATABASES.read_text(), "Number of connections").split())
    size, overflow = re.search(
        r"max_pool_size` is (\d+) and \S*max_overflow` is (\d+)", text
    ).groups()
    threads = int(re.search(r"with up to (\d+) threads", text)[1])
    wait = int(re.search(r"pool_timeout` seconds \(default: (\d+)\)", text)[1])
    connections = pools.connect(DatabaseSettings("mysql+pymysql://placement@db/placement"))
    for pool in (connections.reader.pool, connections.writer.pool):
        assert (pool.size(), pool._max_overflow) == (int(size), int(overflow))
        assert pool._timeout == wait
    assert connections.reader.pool is not connections.writer.pool
    assert threads == int(size) + int(overflow)


def test_sqlite_has_one_pool(tmp_path):
    connections = pools.connect(DatabaseSettings(f"sqlite:///{tmp_path}/a"))
    assert connections.reader is connections.writer


@pytest.mark.long
def test_samples_are_generated_in_a_checkout(tmp_path):
    shutil.copytree(docs.ROOT / "etc", tmp_path / "etc")
    for command in GENERATORS:
        assert command.startswith("oslo")
        subprocess.run(f"{BIN}/{command}", shell=True, check=True, cwd=tmp_path)
    for name in generated():
        lines = (tmp_path / "etc" / name).read_text().splitlines()
        assert len(lines) > 100
        assert all(not line or line.startswith(("#", "[")) for line in lines)


INSTALLED_SAMPLES, CONFIGURATION = docs.ROOT / "etc" / "placement", "/etc/placement/placement.conf"


def validated(tmp_path, configuration):
    """Run the documented validation on a configuration; return the exit code and the output."""
    file = tmp_path / "placement.conf"
    file.write_text(configuration)
    directory, validator = VALIDATION
    assert directory == "cd /opt/placement/share/placement/placement"
    command = validator.replace("../../../bin", str(BIN)).replace(CONFIGURATION, str(file))
    done = subprocess.run(
        command,
        shell=True,
        check=False,
        cwd=INSTALLED_SAMPLES,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.long
def test_the_documented_configuration_is_valid(tmp_path):
    (configuration,) = (
        textwrap.dedent(block)
        for block in re.findall(
            r"^   \.\. code-block:: ini\n\n((?:      .*\n|\n)+)",
            (docs.SOURCE / "install" / "index.rst").read_text(),
            re.MULTILINE,
        )
        if "SECRET" in block
    )
    assert "[keystone_authtoken]" in configuration
    code, output = validated(tmp_path, configuration)
    assert (code, "ERROR" in output) == (0, False), output


@pytest.mark.long
@pytest.mark.parametrize(
    ("misspelled", "reported"),
    [
        ("[insight]\nrecrod = false\n", "insight/recrod"),
        ("[insigth]\nrecord = false\n", "insigth/record"),
        ("[DEFAULT]\ndebugg = true\n", "DEFAULT/debugg"),
        ("[oslo_policy]\npolicy_files = a\n", "oslo_policy/policy_files"),
    ],
)
def test_the_validation_reports_a_misspelled_option_or_group(tmp_path, misspelled, reported):
    code, output = validated(tmp_path, misspelled)
    assert code == 1
    assert f"ERROR:oslo_config.validator:{reported} is not part of the sample config" in output


@pytest.mark.long
def test_the_page_shows_the_message_of_the_validation(tmp_path):
    page = (docs.SOURCE / "configuration" / "index.rst").read_text()
    _, output = validated(tmp_path, "[insight]\nrecrod = false\n")
    (shown,) = re.findall(r"^   (ERROR:.+)$", page, re.MULTILINE)
    assert shown in output.splitlines()


# --- samples ------------------------------------------------------------------------------


def samples():
    folder = docs.ROOT / "etc"
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_each_sample_is_listed():
    listed = re.findall(r"^``(\S+/\S+)`` ", SERVERS.read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(samples() - generated())


def generated():
    return {"placement/placement.conf.sample", "placement/policy.yaml.sample"}


def test_each_sample_is_installed_to_the_documented_directory():
    settings = tomllib.loads((docs.ROOT / "pyproject.toml").read_text())
    installed = {
        f"{folder.removeprefix('share/placement/')}/{path.name}"
        for folder, patterns in settings["tool"]["setuptools"]["data-files"].items()
        for pattern in patterns
        for path in docs.ROOT.glob(pattern)
    }
    assert installed == samples() - generated()


def test_container_requirements_pin_each_dependency_with_hashes():
    project = tomllib.loads((docs.ROOT / "pyproject.toml").read_text())["project"]
    extras = ("container", "metrics", "postgresql")
    names = [name for extra in extras for name in project["optional-dependencies"][extra]]
    lines = (docs.ROOT / "packaging" / "container-requirements.txt").read_text()
    pins = re.findall(r"^(\S+)==(\S+).*(?:\n    --hash=sha256:\S+.*)+", lines, re.MULTILINE)
    pinned = {canonicalize_name(name): version for name, version in pins}
    assert len(pinned) == lines.count("==")
    for requirement in map(Requirement, [*project["dependencies"], *names]):
        assert pinned[canonicalize_name(requirement.name)] in requirement.specifier


def test_the_uwsgi_lines_shown_are_those_of_the_sample():
    (shown,) = [block for block in blocks(SERVERS.read_text(), "ini") if "[uwsgi]" in block]
    assert set(shown.splitlines()) <= set(sample("uwsgi/placement-api.ini").splitlines())


def behind_a_proxy_with_metrics(deployment):
    """Start uWSGI with /metrics; return the path of its socket."""
    with (deployment.folder / "placement.conf").open("a") as file:
        file.write(f"[metrics]\nenabled = true\nfolder = {deployment.folder}/metrics\n")
    return start_uwsgi_behind_proxy(deployment)


def refuses_metrics_of_other_networks(deployment):
    deployment.wait("/placement/")
    assert deployment.request("GET", "/placement/metrics").status_code == 403
    assert deployment.request("GET", "/placement/traits").status_code == 200


@pytest.mark.long
@pytest.mark.parametrize("backend", ["sqlite"])
def test_nginx_restricts_metrics_as_documented(deployment):
    path = behind_a_proxy_with_metrics(deployment)
    (fragment,) = blocks(section(SERVERS.read_text(), "Reverse proxies"), "nginx")
    site = sample(
        "nginx/placement-api.conf",
        listen=("listen 8778", f"listen {deployment.address}"),
        fragment=("    location /placement {", f"{fragment}\n    location /placement {{"),
    ).replace("/run/placement/uwsgi.sock", str(path))
    start_nginx(deployment, site)
    refuses_metrics_of_other_networks(deployment)


@pytest.mark.long
@pytest.mark.parametrize("backend", ["sqlite"])
def test_apache_restricts_metrics_as_documented(deployment):
    path = behind_a_proxy_with_metrics(deployment)
    (fragment,) = blocks(section(SERVERS.read_text(), "Reverse proxies"), "apache")
    end = "</VirtualHost>"
    start_apache_proxy(deployment, path, "authz_host", fragment=(end, f"{fragment}\n{end}"))
    refuses_metrics_of_other_networks(deployment)
