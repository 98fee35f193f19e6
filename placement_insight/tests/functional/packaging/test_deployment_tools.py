"""The names by which deployment tools use the service: files, commands, options, the WSGI module.

They are those of kolla 23.0.0, kolla-ansible 22.2.0 and puppet-module-placement 8.0.0.
"""

import re
import subprocess
import tomllib

import pytest

from placement.db.schema import migration
from placement.tests.support import docs
from placement.tests.support.processes import BIN, environment, program, wait_for_applications

pytestmark = pytest.mark.long

PAGE = docs.SOURCE / "admin" / "deployment-tools.rst"
DEBIAN = docs.ROOT / "packaging" / "debian"
# placement.conf as Kolla-Ansible renders it, with another database and another log file.
KOLLA_CONFIGURATION = """
[DEFAULT]
debug = False
log_file = {folder}/placement-api.log
state_path = /var/lib/placement
[oslo_middleware]
enable_proxy_headers_parsing = true
[oslo_concurrency]
lock_path = /var/lib/placement/tmp
[placement_database]
connection = sqlite:///{folder}/placement.sqlite
connection_recycle_time = 10
max_overflow = 1000
max_pool_size = 1
max_retries = -1
[cache]
backend = oslo_cache.memcache_pool
enabled = true
memcache_servers = 127.0.0.1:11211
[keystone_authtoken]
service_type = placement
www_authenticate_uri = https://keystone.example.org
auth_url = https://keystone.example.org
auth_type = password
project_domain_id = default
user_domain_id = default
project_name = service
username = placement
password = secret
cafile =
region_name = RegionOne
memcache_security_strategy = ENCRYPT
memcache_secret_key = secret
memcached_servers = 127.0.0.1:11211
[oslo_policy]
policy_file = policy.yaml
"""
# placement-api-uwsgi.ini as Kolla-Ansible renders it; pip's uWSGI contains the plugin for Python.
KOLLA_UWSGI = """
[uwsgi]
add-header = Connection: close
buffer-size = 65535
die-on-term = true
enable-threads = true
exit-on-reload = false
hook-master-start = unix_signal:15 gracefully_kill_them_all
http = {address}
http-auto-chunked = true
http-chunked-input = true
http-raw-body = true
lazy-apps = true
logto2 = {folder}/uwsgi.log
master = true
module = placement.wsgi.api:application
processes = 2
socket-timeout = 30
thunder-lock = true
worker-reload-mercy = 80
static-map = /static=/var/lib/kolla/venv/lib/python3/site-packages/static
"""
# placement.conf with all options that classes of puppet-placement can set.
PUPPET_CONFIGURATION = """
[DEFAULT]
state_path = /var/lib/placement
[placement]
randomize_allocation_candidates = true
allocation_conflict_retry_count = 10
[placement_database]
sqlite_synchronous = true
connection = sqlite:///{folder}/placement.sqlite
slave_connection =
mysql_sql_mode = TRADITIONAL
max_pool_size = 10
max_retries = 10
retry_interval = 10
max_overflow = 50
connection_debug = 0
connection_trace = false
pool_timeout = 30
mysql_enable_ndb = false
[oslo_policy]
enforce_scope = true
enforce_new_defaults = true
policy_file = /etc/placement/policy.yaml
[oslo_middleware]
enable_proxy_headers_parsing = true
"""


def manage(folder, *arguments):
    """Run placement-manage as the container of Kolla does; return its output."""
    done = subprocess.run(
        [BIN / "placement-manage", *arguments],
        env=environment(OS_PLACEMENT_CONFIG_DIR=str(folder)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("backend", ["sqlite"])
def test_the_files_of_kolla_ansible_serve(deployment):
    folder = deployment.folder
    (folder / "placement.conf").write_text(KOLLA_CONFIGURATION.format(folder=folder))
    manage(folder, "db", "sync")
    manage(folder, "db", "online_data_migrations")
    ini = KOLLA_UWSGI.format(folder=folder, address=deployment.address)
    (folder / "placement-api-uwsgi.ini").write_text(ini)
    uwsgi = program("uwsgi", "pip install uWSGI")
    deployment.start(uwsgi, "--virtualenv", BIN.parent, folder / "placement-api-uwsgi.ini")
    deployment.wait("/")  # the health check of HAProxy: 200 for GET /
    wait_for_applications(deployment, "uwsgi.log", 2)
    # memcached and Keystone do not respond; what is needed to ask them is installed
    assert deployment.request("GET", "/traits").status_code == 503


def test_the_page_lists_what_the_validation_of_kolla_ansible_reports(tmp_path):
    file = tmp_path / "placement.conf"
    file.write_text(KOLLA_CONFIGURATION.format(folder=tmp_path))
    generator = docs.ROOT / "etc" / "placement" / "config-generator.conf"
    done = subprocess.run(
        [BIN / "oslo-config-validator", f"--config-file={generator}", f"--input-file={file}"],
        capture_output=True,
        text=True,
        check=False,
    )
    reported = set(re.findall(r"ERROR:\S+?:(\w+)/(\w+) is not part", done.stderr))
    text = PAGE.read_text()
    assert all(f"[{group}]{option}" in text for group, option in reported), reported
    assert len(reported) == 4


def test_the_dockerfile_of_kolla_finds_its_files():
    """It installs ``/placement``, and copies ``/placement/etc/placement/*``."""
    copied = {path.name for path in (docs.ROOT / "etc" / "placement").iterdir()}
    assert copied >= {"config-generator.conf", "policy-generator.conf", "policy.d"}
    assert "``/etc/placement/policy.d/auditor.yaml``" in PAGE.read_text()
    scripts = tomllib.loads((docs.ROOT / "pyproject.toml").read_text())
    assert "placement-manage" in scripts["project"]["scripts"]


def test_the_options_that_puppet_sets_are_accepted(tmp_path):
    (tmp_path / "placement.conf").write_text(PUPPET_CONFIGURATION.format(folder=tmp_path))
    manage(tmp_path, "db", "sync")
    assert manage(tmp_path, "db", "version").strip() == migration.HEAD


def test_the_debian_package_has_the_names_that_puppet_uses():
    links = (DEBIAN / "openplacement.links").read_text()
    for command in ("placement-manage", "placement-api"):
        assert f" /usr/bin/{command}\n" in links
    rules = (DEBIAN / "rules").read_text()
    assert "dh_installsystemd --name=placement-api" in rules
    assert "/etc/placement/placement.conf" in rules
    assert "adduser --system --group" in (DEBIAN / "openplacement.postinst").read_text()
