"""Each command line on the pages is accepted by the parser of its program.

This is quick. The tests in ``documented`` and others run the commands: see ``test_all_commands``.
"""

import re
import shlex
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from oslo_config import cfg
from oslo_log import log

from placement.cmd import api, manage
from placement.tests.support import docs
from placement_compare import command as compare
from placement_insight.tests.functional.docs import pages

PLUGINS = ("openstack.placement.v1", "openstack.identity.v3", "openstack.compute.v2")
OTHER_PROGRAMS = {
    *("a2enmod", "a2ensite", "adduser", "apachectl", "apt-get", "buildah", "cd", "cp", "curl"),
    *("done", "dpkg", "dpkg-query", "export", "for", "gunicorn", "install", "ln", "make"),
    *("mariadb", "mariadb-dump", "pg_dump", "pg_restore"),
    *("mysql", "mysqldump", "mysql-migrate-db.sh", "nginx", "oslo-config-generator"),
    *("man", "nova-manage"),
    *("./oslopolicy-checker", "./oslopolicy-policy-generator"),
    *("oslo-config-validator", "oslopolicy-sample-generator", "packaging/build-deb", "pip"),
    *(
        "packaging/build-image",
        "podman",
        "python",
        "python3",
        "reno",
        "sed",
        "sqlite3",
        "systemctl",
    ),
    *("unset", "uwsgi"),
    *("placement", "placement()"),  # a function of the README
}


def commands():
    """Yield the page and the text of each command, with its continuation lines."""
    for name in pages.page_names():
        for command in pages.commands(name):
            yield name, command.text


def words(command):
    """Return the words of a command without what runs it as another user, pipes and comments."""
    parsed = shlex.split(command.removesuffix(" &"), comments=True) or ["#"]
    for prefix in ("runuser", "setpriv"):
        if parsed[0] == prefix:
            own = next(n for n, word in enumerate(parsed) if word.startswith("placement-"))
            parsed = parsed[own:]
    for end in ("|", "&&", ">", "<"):
        if end in parsed:
            parsed = parsed[: parsed.index(end)]
    while len(parsed) > 1 and re.match(r"\w+=", parsed[0]):
        del parsed[0]
    return parsed


def accepts_manage(arguments):
    conf = cfg.ConfigOpts()
    log.register_options(conf)
    conf.register_cli_opt(cfg.SubCommandOpt("category", handler=manage._add_categories))
    conf(arguments, project="placement", version="1", default_config_files=[])
    return conf.category.run is not None


def accepts_status(arguments):
    return arguments == ["upgrade", "check"]


@cache
def commands_of_openstack():
    return {entry.name: entry for group in PLUGINS for entry in entry_points(group=group)}


def accepts_openstack(arguments):
    """Parse the options of the command whose name is the longest among those of the plugins."""
    while arguments[0].startswith("--os-"):
        arguments = arguments[2:]
    for length in range(len(arguments), 0, -1):
        entry = commands_of_openstack().get("_".join(arguments[:length]).replace("-", "_"))
        if entry:
            entry.load()(None, None).get_parser("openstack").parse_args(arguments[length:])
            return True
    return False


def accepts_api(arguments):
    others = api.parse(arguments).configuration
    options = {text.partition("=")[0] for text in others if text.startswith("-")}
    return options <= {"--config-file", "--config-dir", "--debug"}


PARSERS = {
    "openstack": accepts_openstack,
    "placement-api": accepts_api,
    "placement-compare": lambda arguments: compare._parser().parse_args(arguments),
    "placement-manage": accepts_manage,
    "placement-status": accepts_status,
}
PLACEMENT = [
    (page, command)
    for page, command in commands()
    if Path(words(command)[0]).name in PARSERS and "--version" not in command
]


# python-openstackclient imports what openstacksdk has deprecated
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("page", "command"), PLACEMENT, ids=lambda value: value[:60])
def test_a_command_is_accepted(page, command):
    program, *arguments = words(command)
    assert PARSERS[Path(program).name](arguments)


def test_other_programs_are_known():
    programs = {words(command)[0] for _, command in commands()}
    programs = {re.sub(r"^\S*/bin/", "", each) for each in programs if "=" not in each}
    assert programs - set(PARSERS) - OTHER_PROGRAMS == set()
    assert len(PLACEMENT) > 40


def test_files_of_the_repository_exist():
    named = {
        word
        for _, command in commands()
        for word in words(command)
        if re.match(r"(etc|packaging|placement|devstack)/[^*]+$", word)
    }
    assert {name for name in named if not (docs.ROOT / name).exists()} == set()
    assert "packaging/build-deb" in named
