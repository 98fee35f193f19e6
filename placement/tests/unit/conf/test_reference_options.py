"""Every option of the configuration reference is there, as configuration files expect it."""

import configparser
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from oslo_config import cfg, generator

import placement
from placement import wsgi

ROOT = Path(placement.__file__).parent.parent

# Type, name and default by group; `-` is no default, `*` one that is the library's own affair and
# has changed with its releases, or is of the machine.
REFERENCE = r"""
[DEFAULT]
boolean debug false
string log_config_append -
string log_date_format %Y-%m-%d %H:%M:%S
string log_file -
string log_dir -
boolean use_syslog false
boolean use_journal false
string syslog_log_facility LOG_USER
boolean use_json false
boolean use_stderr false
integer log_rotate_interval 1
string log_rotate_interval_type days
integer max_logfile_count 30
integer max_logfile_size_mb 200
string log_rotation_type none
string logging_context_format_string *
string logging_default_format_string *
string logging_debug_format_suffix *
string logging_exception_prefix *
string logging_user_identity_format *
list default_log_levels *
boolean publish_errors false
string instance_format [instance: %(uuid)s]
string instance_uuid_format [instance: %(uuid)s]
integer rate_limit_interval 0
integer rate_limit_burst 0
string rate_limit_except_level CRITICAL
boolean fatal_deprecations false
string tempdir -
string pybasedir *
string state_path $pybasedir
boolean log_options true
[api]
string auth_strategy keystone
[cors]
list allowed_origin -
boolean allow_credentials true
list expose_headers *
integer max_age 3600
list allow_methods *
list allow_headers *
[keystone_authtoken]
string www_authenticate_uri -
string auth_version -
string interface internal
boolean delay_auth_decision false
integer http_connect_timeout -
integer http_request_max_retries 3
string cache -
string certfile -
string keyfile -
string cafile -
boolean insecure false
string region_name -
list memcached_servers -
integer token_cache_time 300
string memcache_security_strategy None
string memcache_secret_key -
integer memcache_pool_dead_retry 300
integer memcache_pool_maxsize 10
integer memcache_pool_socket_timeout 3
integer memcache_pool_unused_timeout 60
integer memcache_pool_conn_get_timeout 10
boolean memcache_use_advanced_pool true
boolean include_service_catalog true
string enforce_token_bind permissive
list service_token_roles service
boolean service_token_roles_required *
string service_type -
any auth_type -
any auth_section -
[oslo_middleware]
boolean enable_proxy_headers_parsing false
[oslo_policy]
boolean enforce_new_defaults *
string policy_file *
string policy_default_rule default
multistring policy_dirs policy.d
string remote_content_type application/x-www-form-urlencoded
boolean remote_ssl_verify_server_crt false
string remote_ssl_ca_crt_file -
string remote_ssl_client_crt_file -
string remote_ssl_client_key_file -
[placement]
boolean randomize_allocation_candidates false
string incomplete_consumer_project_id 00000000-0000-0000-0000-000000000000
string incomplete_consumer_user_id 00000000-0000-0000-0000-000000000000
integer allocation_conflict_retry_count 10
integer max_allocation_candidates -1
string allocation_candidates_generation_strategy depth-first
[placement_database]
string connection -
string connection_parameters
boolean sqlite_synchronous true
string slave_connection -
string mysql_sql_mode TRADITIONAL
integer connection_recycle_time 3600
integer max_pool_size -
integer max_retries 10
integer retry_interval 10
integer max_overflow -
integer connection_debug 0
boolean connection_trace false
integer pool_timeout -
boolean sync_on_startup false
[profiler]
boolean enabled false
boolean trace_sqlalchemy false
boolean trace_requests false
string hmac_keys SECRET_KEY
string connection_string messaging://
string es_doc_type notification
string es_scroll_time 2m
integer es_scroll_size 10000
float socket_timeout 0.1
string sentinel_service_name mymaster
boolean filter_error_trace false
[profiler_jaeger]
string service_name_prefix -
dict process_tags
[profiler_otlp]
string service_name_prefix -
[workarounds]
boolean optimize_for_wide_provider_trees false
"""

# What the libraries themselves have dropped since: files that set it are still read.
GONE = {
    "DEFAULT": {"watch_log_file": "false", "use_eventlog": "false"},
    "keystone_authtoken": {"auth_uri": "http://keystone"},
    "oslo_policy": {"enforce_scope": "true"},
}


def reference():
    group = None
    for line in REFERENCE.strip().splitlines():
        if line.startswith("["):
            group = line.strip("[]")
        else:
            kind, name, *default = line.split(" ", 2)
            yield group, name, kind, default[0] if default else ""


def namespaces():
    lines = (ROOT / "etc" / "placement" / "config-generator.conf").read_text().splitlines()
    return [line.partition(" = ")[2] for line in lines if line.startswith("namespace")]


@pytest.fixture(scope="module")
def listed():
    """The options of the sample configuration, by group and name."""
    return {
        (getattr(group, "name", group) or "DEFAULT", option.dest): option
        for _, groups in generator._list_opts(namespaces())
        for group, options in groups
        for option in options
    }


def kind_of(option):
    return "any" if option.type is str or isinstance(option.type, type) else named(option)


def named(option):
    return type(option.type).__name__.lower()


def text_of(default):
    match default:
        case None:
            return "-"
        case bool():
            return str(default).lower()
        case list():
            return ",".join(default)
        case dict():
            return ",".join(f"{key}:{value}" for key, value in default.items())
    return str(default)


@pytest.mark.parametrize(("group", "name", "kind", "default"), list(reference()))
def test_an_option_of_the_reference_is_there(listed, group, name, kind, default):
    option = listed[group, name]
    assert kind_of(option) == kind
    if default != "*":
        assert text_of(option.default).strip() == default


def test_the_reference_has_as_many_options_as_were_counted():
    assert len({(group, name) for group, name, _, _ in reference()}) == 113


# --- files, folders and environment --------------------------------------------------------


def test_every_option_may_be_set_and_unknown_ones_are_no_matter(tmp_path):
    """A complete file, with removed options and groups of other programs, is read."""
    file = configparser.RawConfigParser(default_section=None)
    for group, name, _, default in reference():
        if default not in {"-", "*", ""}:
            file.has_section(group) or file.add_section(group)
            file[group][name] = default.replace("$pybasedir", "/srv").replace("%", "%%")
    for group, options in GONE.items():
        for name, text in options.items():
            file[group][name] = text
    file["placement_database"]["connection"] = "sqlite://"
    file["of_another_program"] = {"option": "value"}
    with (tmp_path / "placement.conf").open("w") as written:
        file.write(written)
    conf = wsgi.read_configuration([str(tmp_path / "placement.conf")])
    assert conf.state_path == "/srv"
    assert conf.placement.max_allocation_candidates == -1


@pytest.fixture
def home(monkeypatch, tmp_path):
    """The folder where configurations are looked for first."""
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".placement"
    folder.mkdir()
    (folder / "placement.conf").write_text("[placement_database]\nconnection = sqlite://\n")
    return folder


def test_files_of_a_folder_are_read_in_order(home):
    parts = home / "placement.conf.d"
    parts.mkdir()
    (parts / "20.conf").write_text("[placement]\nmax_allocation_candidates = 20\n")
    (parts / "10.conf").write_text(
        "[placement]\nmax_allocation_candidates = 10\nincomplete_consumer_user_id = ten\n"
    )
    conf = wsgi.read_configuration()
    assert conf.placement.max_allocation_candidates == 20
    assert conf.placement.incomplete_consumer_user_id == "ten"


def test_the_environment_wins_over_the_parts(home, monkeypatch):
    monkeypatch.setenv("OS_PLACEMENT__MAX_ALLOCATION_CANDIDATES", "7")
    conf = wsgi.read_configuration()
    assert conf.placement.max_allocation_candidates == 7


def test_options_that_may_change_are_read_again(home):
    conf = wsgi.read_configuration()
    assert conf.debug is False
    (home / "placement.conf").write_text(
        "[DEFAULT]\ndebug = true\n[placement_database]\nconnection = sqlite://\n"
    )
    conf.mutate_config_files()
    assert conf.debug is True


# --- logging -------------------------------------------------------------------------------

LOGGING = """
import sys
from oslo_log import log
from placement import wsgi
wsgi.set_up_logging(wsgi.read_configuration([sys.argv[1]]))
log.getLogger("placement.somewhere").warning("seen %s", 1)
log.getLogger("placement.somewhere").info("told")
"""


def logged(tmp_path, options):
    """Return what a process with these options wrote to its log file and printed."""
    (tmp_path / "placement.conf").write_text(
        f"[DEFAULT]\n{options}\n[placement_database]\nconnection = sqlite://\n"
    )
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LOGGING, str(tmp_path / "placement.conf")],
        capture_output=True,
        text=True,
        check=False,
    )
    log = tmp_path / "log"
    return (log.read_text() if log.exists() else ""), result


@pytest.mark.long
def test_the_log_may_be_json(tmp_path):
    text, result = logged(tmp_path, f"log_file = {tmp_path}/log\nuse_json = true")
    lines = [json.loads(line) for line in text.splitlines()]
    assert [(line["levelname"], line["message"]) for line in lines] == [
        ("WARNING", "seen 1"),
        ("INFO", "told"),
    ]
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.long
def test_levels_may_be_set_for_a_part(tmp_path):
    text, _ = logged(
        tmp_path, f"log_file = {tmp_path}/log\ndefault_log_levels = placement.somewhere=WARN"
    )
    assert "seen 1" in text
    assert "told" not in text


@pytest.mark.long
def test_the_log_may_go_to_syslog_as_well(tmp_path):
    text, result = logged(tmp_path, f"log_file = {tmp_path}/log\nuse_syslog = true")
    assert "seen 1" in text
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.long
def test_the_log_may_go_to_the_journal_where_its_library_is(tmp_path):
    _, result = logged(tmp_path, f"log_file = {tmp_path}/log\nuse_journal = true")
    has_library = importlib.util.find_spec("systemd") is not None
    assert has_library or "Systemd bindings do not exist" in result.stderr
    assert result.returncode == (0 if has_library else 1)


def test_a_connection_is_demanded(tmp_path):
    (tmp_path / "placement.conf").write_text("[DEFAULT]\n")
    with pytest.raises(cfg.RequiredOptError):
        wsgi.read_configuration([str(tmp_path / "placement.conf")])
