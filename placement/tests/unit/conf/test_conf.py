import subprocess
import sys
from pathlib import Path

import pytest
from oslo_config import cfg

from placement import conf as options
from placement import db_api, deploy, wsgi
from placement.conf import opts
from placement.core.model import IncompleteConsumer
from placement.core.request import SearchSettings

CONNECTION = ("placement_database", "connection")
NOBODY = "00000000-0000-0000-0000-000000000000"
ROOT = Path(options.__file__).parent.parent.parent

# Group, option, default: as other programs' configuration and tools expect them.
DEFAULTS = [
    (None, "tempdir", None),
    (None, "pybasedir", str(ROOT)),
    (None, "state_path", str(ROOT)),
    (None, "log_options", True),
    (None, "debug", False),
    ("api", "auth_strategy", "keystone"),
    ("api", "max_request_body_size", 16 * 2**20),
    ("audit", "enabled", False),
    ("audit", "audit_map_file", "/etc/placement/api_audit_map.conf"),
    ("audit", "ignore_req_list", "GET"),
    ("placement", "randomize_allocation_candidates", False),
    ("placement", "rotate_limited_candidates", True),
    ("placement", "incomplete_consumer_project_id", NOBODY),
    ("placement", "incomplete_consumer_user_id", NOBODY),
    ("placement", "allocation_conflict_retry_count", 10),
    ("placement", "max_allocation_candidates", -1),
    ("placement", "allocation_candidates_generation_strategy", "depth-first"),
    ("placement", "candidate_search_budget_seconds", 5.0),
    ("placement_database", "connection", "sqlite://"),
    ("placement_database", "connection_parameters", ""),
    ("placement_database", "sqlite_synchronous", True),
    ("placement_database", "slave_connection", None),
    ("placement_database", "mysql_sql_mode", "TRADITIONAL"),
    ("placement_database", "connection_recycle_time", 3600),
    ("placement_database", "max_pool_size", None),
    ("placement_database", "max_overflow", None),
    ("placement_database", "max_waiting_writes", None),
    ("placement_database", "pool_timeout", None),
    ("placement_database", "max_retries", 10),
    ("placement_database", "retry_interval", 10),
    ("placement_database", "connection_debug", 0),
    ("placement_database", "connection_trace", False),
    ("placement_database", "sync_on_startup", False),
    ("healthcheck", "enabled", False),
    ("metrics", "enabled", False),
    ("metrics", "inventory", True),
    ("metrics", "inventory_max_hosts", 100),
    ("metrics", "inventory_root_trait_prefix", ""),
    ("metrics", "inventory_interval_seconds", 15),
    ("metrics", "folder", None),
    ("metrics", "allowed_source_ranges", ["127.0.0.0/8", "::1/128"]),
    ("workarounds", "optimize_for_wide_provider_trees", False),
]


@pytest.fixture(autouse=True)
def no_configuration_of_the_machine(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))


def read(text="", tmp_path=None):
    files = []
    if tmp_path:
        (tmp_path / "placement.conf").write_text(text)
        files = [str(tmp_path / "placement.conf")]
    return wsgi.read_configuration(files, {CONNECTION: "sqlite://"})


@pytest.mark.parametrize(("group", "option", "default"), DEFAULTS)
def test_an_option_has_its_name_and_default(group, option, default):
    conf = read()
    assert (conf[group] if group else conf)[option] == default


def test_there_are_no_options_but_these():
    registered = {
        (group.name if group else None, option.name)
        for group, listed in opts.list_opts()
        for option in listed
    }
    log = (None, "debug")
    assert registered == {(group, option) for group, option, _ in DEFAULTS} - {log}


def test_a_database_must_be_named():
    with pytest.raises(cfg.RequiredOptError):
        wsgi.read_configuration([])


def test_the_environment_wins_over_the_file(monkeypatch, tmp_path):
    monkeypatch.setenv("OS_PLACEMENT__RANDOMIZE_ALLOCATION_CANDIDATES", "true")
    monkeypatch.setenv("OS_API__AUTH_STRATEGY", "noauth2")
    monkeypatch.setenv("OS_DEFAULT__DEBUG", "true")
    conf = read("[api]\nauth_strategy = keystone\n[unknown]\nx = y\n", tmp_path)
    assert conf.placement.randomize_allocation_candidates is True
    assert conf.api.auth_strategy == "noauth2"
    assert conf.debug is True


def test_the_authentication_may_stand_where_it_once_stood(tmp_path):
    assert read("[DEFAULT]\nauth_strategy = noauth2\n", tmp_path).api.auth_strategy == "noauth2"


@pytest.mark.parametrize("folder", [None, "", "  "])
def test_without_a_folder_the_usual_places_are_looked_at(monkeypatch, folder):
    monkeypatch.delenv("OS_PLACEMENT_CONFIG_DIR", raising=False)
    if folder is not None:
        monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", folder)
    assert wsgi.config_files() is None


def test_a_folder_that_is_named_must_hold_the_file(monkeypatch, tmp_path):
    monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(tmp_path))
    assert wsgi.config_files() == [str(tmp_path / "placement.conf")]
    with pytest.raises(cfg.ConfigFilesNotFoundError):
        wsgi.init_application()


def test_options_can_be_registered_on_a_configuration_that_has_them():
    conf = read()
    options.register_opts(conf)


def test_the_search_is_set_as_configured(tmp_path):
    assert deploy.search_settings(read()) == SearchSettings()
    text = (
        "[placement]\nrandomize_allocation_candidates = true\nmax_allocation_candidates = 7\n"
        "allocation_candidates_generation_strategy = breadth-first\n"
        "candidate_search_budget_seconds = 0.5\nrotate_limited_candidates = false\n"
    )
    expected = SearchSettings(
        randomize=True, max_candidates=7, breadth_first=True, budget_seconds=0.5, rotate=False
    )
    assert deploy.search_settings(read(text, tmp_path)) == expected


@pytest.mark.parametrize(("option", "bound"), [(-1, None), (0, 1), (1, 1), (4, 4)])
def test_a_bound_of_zero_acts_as_one_and_a_negative_one_as_none(tmp_path, option, bound):
    text = f"[placement]\nmax_allocation_candidates = {option}\n"
    assert deploy.search_settings(read(text, tmp_path)).max_candidates == bound


def test_unnamed_consumers_are_whose_the_configuration_says(tmp_path):
    text = "[placement]\nincomplete_consumer_project_id = p\nincomplete_consumer_user_id = u\n"
    assert db_api.incomplete_consumer(read(text, tmp_path)) == IncompleteConsumer("p", "u")


@pytest.mark.long
@pytest.mark.parametrize(
    ("tool", "generator", "expected"),
    [
        ("oslo_config.generator", "config-generator.conf", "#sync_on_startup = false"),
        ("oslo_policy.generator", "policy-generator.conf", '#"placement:reshaper:reshape":'),
    ],
)
def test_samples_can_be_generated(tmp_path, tool, generator, expected):
    output = tmp_path / "sample"
    function = "main" if "config" in tool else "generate_sample"
    code = f"import {tool} as tool; tool.{function}()"
    generator = ROOT / "etc" / "placement" / generator
    arguments = ["--config-file", str(generator), "--output-file", str(output)]
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, cwd=ROOT)
    assert expected in output.read_text()
