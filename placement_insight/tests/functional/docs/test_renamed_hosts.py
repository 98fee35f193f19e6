"""The commands of the page about renamed hosts do what it shows, one after another."""

import re
import shlex
import textwrap

import pytest
import webtest

from placement.cmd import manage
from placement.objects import provider
from placement.tests.support import docs
from placement.tests.support.factories import claim, set_inventories, uuid
from placement_insight.tests.functional.docs.pages import executed
from placement_insight.tests.support.openstack_client import Client, served

PAGE = docs.SOURCE / "admin" / "renamed-hosts.rst"
SECTION = re.compile(r"^(\w[^\n]+)\n=+\n(.*?)(?=^\w[^\n]+\n=+\n|\Z)", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(
    r"^   \$ (?P<program>[\w-]+) (?P<command>.*)\n(?P<output>(?:   [^$\n].*\n)*)", re.MULTILINE
)
COMMANDS = executed("admin/renamed-hosts")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
OLD, NEW, REFUSED = (
    "6f8a2c14-3d0b-4b5e-9a57-1c2f8e7d9b01",
    "a1d0f3b2-77c4-4e21-8f0a-5b6c7d8e9f02",
    "b3c4e5d6-2a19-4f70-8d3e-9e0f1a2b3c03",
)
EXAMPLES = {
    title.partition(":")[0]: list(COMMAND.finditer(text))
    for title, text in SECTION.findall(PAGE.read_text())
    if COMMAND.search(text)
}


@pytest.fixture
def hosts(store, application):
    """The situation of the page: two providers for one host, and a refused request."""
    for own, name in ((OLD, "cn1"), (NEW, "cn1.example.org")):
        provider.create(store, own, name, None)
        set_inventories(store, own, VCPU=8)
    claim(store, uuid(), {OLD: {"VCPU": 2}})
    headers = {"X-Auth-Token": "admin"}
    body = {"name": "cn1", "uuid": REFUSED}
    service = webtest.TestApp(application)
    service.post_json("/resource_providers", body, headers=headers, status=409)


@pytest.mark.usefixtures("hosts")
def test_the_providers_of_a_host_are_listed_as_shown(application):
    (example,) = EXAMPLES["Find the providers"]
    with served(application) as url:
        printed = Client(url, version=None).run(example["command"]).stdout
    assert TIME.sub("", printed) == TIME.sub("", textwrap.dedent(example["output"]))


@pytest.mark.parametrize("section", ["Adopt", "Rename", "Retire"])
@pytest.mark.usefixtures("hosts")
def test_the_commands_of_a_section_print_what_it_shows(
    section, database_url, monkeypatch, capsys, tmp_path
):
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", database_url)
    monkeypatch.chdir(tmp_path)
    for example in EXAMPLES[section]:
        assert example["program"] == "placement-manage"
        assert manage.main(shlex.split(example["command"])) == 0
        shown = textwrap.dedent(example["output"])
        assert capsys.readouterr().out == shown


def test_each_section_about_a_change_has_examples():
    assert list(EXAMPLES) == ["Find the providers", "Adopt", "Rename", "Retire"]
    found = [example for examples in EXAMPLES.values() for example in examples]
    assert [f"{each['program']} {each['command']}" for each in found] == COMMANDS
