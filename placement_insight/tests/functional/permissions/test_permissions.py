"""Which calls of other services a set of roles may send: the route and both commands."""

import argparse
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import webtest

from placement import handler
from placement.cmd import manage
from placement.tests.support.processes import ApiProcess
from placement_insight import fitted_tables
from placement_insight.fitted_tables import fitted
from placement_insight.permissions import command as permissions_command
from placement_insight.permissions.model import CALLS, SERVICES
from placement_insight.tests.support.openstack_client import Client

HEADERS = {"X-Auth-Token": "admin", "X-Roles": "admin,service"}


@pytest.fixture
def http(application):
    """The service on any backend: permissions do not read the database."""
    return webtest.TestApp(application)


def denied(document):
    return [
        (each["service"], each["method"], each["path"])
        for each in document["calls"]
        if not each["allowed"]
    ]


def permissions(http, query):
    return http.get(f"/insight/permissions?{query}", headers=HEADERS).json


def test_each_call_is_one_of_the_api():
    for call in CALLS:
        assert call["method"] in handler.all_routes()[call["path"]], call
    assert len({tuple(call.values()) for call in CALLS}) == len(CALLS)
    assert {call["service"] for call in CALLS} == set(SERVICES)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_the_decisions_are_those_that_the_service_makes(http):
    """Each call is sent with the roles: 403 if it is denied, otherwise any other status."""
    for roles in ("service", "admin", "reader", "member,nobody"):
        for each in permissions(http, f"roles={roles}")["calls"]:
            path = each["path"].format(
                uuid="X", resource_class="VCPU", consumer_uuid="X", name="X"
            )
            headers = {
                "X-Auth-Token": "nova",
                "X-Roles": roles,
                "OpenStack-API-Version": "placement latest",
                "Content-Type": "application/json",
            }
            query = "?project_id=of-others" if path == "/usages" else ""
            response = http.request(
                path + query, method=each["method"], headers=headers, status="*"
            )
            assert (response.status_int != 403) == each["allowed"], each
            if not each["allowed"]:
                assert f"It needs {each['needs']};" in response.json["errors"][0]["detail"]


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_an_administrator_lacks_reshape_only(http):
    document = permissions(http, "roles=Admin")
    assert denied(document) == [("nova", "POST", "/reshaper")]
    assert (document["denied"], document["unnamed_roles"]) == (1, [])
    assert denied(permissions(http, "roles=service")) == []
    assert denied(permissions(http, "roles=admin&service=neutron")) == []


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_roles_that_no_rule_names_are_reported(http):
    document = permissions(http, "roles=reader,%20member,servcie")
    assert document["roles"] == ["reader", "member", "servcie"]
    assert document["unnamed_roles"] == ["member", "servcie"]
    assert document["denied"] == len(CALLS)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "query",
    ["", "roles=", "roles=,", "roles=a,,b", "roles=%20", "roles=a&service=glance", "roles=a&x=1"],
)
def test_a_query_that_names_no_roles_or_service_is_refused(http, query):
    http.get(f"/insight/permissions?{query}", headers=HEADERS, status=400)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_roles_are_bounded_and_checked_in_linear_time(http):
    """The first took 100 s for six roles; 3 MB of roles took 8 s."""
    roles = ",".join(["a" * 20] * 400)
    http.get(f"/insight/permissions?roles={roles},,", headers=HEADERS, status=400)
    http.get(f"/insight/permissions?roles={roles}", headers=HEADERS, status=200)
    response = http.get(f"/insight/permissions?roles={roles},{roles}", headers=HEADERS, status=400)
    assert "is too long" in response.json["errors"][0]["detail"]


# --- placement-manage ---------------------------------------------------------------------


RESHAPE = "| nova    | POST   | /reshaper | no      | placement:reshaper:reshape | role service "


def run(capsys, folder, *arguments):
    """Return status, output and errors of the command, with the configuration of a folder."""
    conf = folder / "placement.conf"
    conf.write_text(f"[oslo_policy]\npolicy_file = {folder / 'policy.yaml'}\n")
    command = ["--config-file", str(conf), "permission", "check", *arguments]
    return manage.main(command), *capsys.readouterr()


def test_the_command_needs_no_database(capsys, tmp_path):
    status, output, errors = run(capsys, tmp_path, "--roles", "admin,member")
    assert (status, errors) == (3, "")
    assert output.startswith("No rule names the role member: it allows nothing.\n")
    assert f"{RESHAPE}|\n" in output
    assert output.endswith(f"Denied with the roles admin, member: 1 of {len(CALLS)} calls.\n")


def test_the_command_reports_success_by_its_status(capsys, tmp_path):
    status, output, _ = run(capsys, tmp_path, "--roles", "service")
    assert (status, output) == (0, f"Denied with the roles service: 0 of {len(CALLS)} calls.\n")


def test_the_policy_files_count(capsys, tmp_path):
    (tmp_path / "policy.yaml").write_text('"placement:reshaper:reshape": "project_id:p"\n')
    status, output, _ = run(capsys, tmp_path, "--roles=admin", "--project-id=p", "--json")
    assert (status, json.loads(output)["denied"]) == (0, 0)
    status, output, _ = run(capsys, tmp_path, "--roles=admin", "--service=nova", "--all")
    assert status == 3
    assert " a condition of the policy file " in output
    assert re.search(r"\| GET +\| /usages ", output)
    assert "neutron" not in output


@pytest.mark.parametrize("text", ['"a": "role:x orr y"\n', '"a": "b\n', "- a\n"])
def test_an_invalid_policy_file_is_a_sentence(capsys, tmp_path, text):
    (tmp_path / "policy.yaml").write_text(text)
    status, output, errors = run(capsys, tmp_path, "--roles", "admin")
    assert (status, output) == (1, "")
    assert errors.startswith(f"placement-manage: {tmp_path / 'policy.yaml'}")
    assert errors.count("\n") == 1


def test_an_external_check_that_fails_is_a_sentence(capsys, tmp_path):
    (tmp_path / "policy.yaml").write_text('"placement:reshaper:reshape": "http://127.0.0.1:1/"\n')
    status, output, errors = run(capsys, tmp_path, "--roles", "admin")
    assert (status, output) == (1, "")
    assert "The external check of the policy rule placement:reshaper:reshape failed" in errors
    assert "http://127.0.0.1:1: " in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize("roles", [["--roles", ""], ["--roles", " ,"], []])
def test_no_roles_are_a_mistake_in_the_arguments(capsys, tmp_path, roles):
    status, _, errors = run(capsys, tmp_path, *roles)
    assert status == 1
    assert "--roles" in errors
    assert "Traceback" not in errors


# --- openstack ----------------------------------------------------------------------------

runs_openstack = pytest.mark.xdist_group("client insight")  # its modules take seconds


CHECK = "placement permission check"


@pytest.fixture(scope="module")
def openstack(tmp_path_factory):
    with ApiProcess(tmp_path_factory.mktemp("api"), "--development", "--port", "0") as service:
        service.get()
        yield Client(service.url)


@runs_openstack
def test_openstack_lists_what_is_denied(openstack):
    result = openstack.run(CHECK, "--roles=admin,member", "--long", "-f", "json")
    (row,) = json.loads(result.stdout)
    assert (row["service"], row["path"], row["needs"]) == ("nova", "/reshaper", "role service")
    assert result.returncode == 3
    assert result.stderr == (
        "No rule names the role member: it allows nothing.\n"
        f"Denied with the roles admin, member: 1 of {len(CALLS)} calls.\n"
    )
    result = openstack.run(CHECK, "--roles=service", "--service=cyborg", "--all", "-f", "json")
    assert result.returncode == 0
    assert {row["allowed"] for row in json.loads(result.stdout)} == {True}


@runs_openstack
def test_both_commands_print_the_same_table(openstack, capsys, tmp_path):
    for options in ([], ["--long"], ["--all", "--long"]):
        _, output, _ = run(capsys, tmp_path, "--roles=admin", *options)
        shown = openstack.run(CHECK, "--roles=admin", *options, "--max-width=200")
        table = [line for line in output.splitlines() if line.startswith(("+", "|"))]
        assert shown.stdout.splitlines() == table
        assert shown.stderr == f"{output.splitlines()[-1]}\n"


def test_a_narrow_table_shows_whole_calls():
    calls = [[each["service"], each["method"], each["path"]] for each in CALLS]
    rows = [[*call, "rule" * 15, "needs" * 15] for call in calls]
    columns = ("service", "method", "path", "rule", "needs")
    important = permissions_command.important(argparse.Namespace(all=False))
    assert fitted(columns, rows, 80, important) == (list(columns[:3]), calls)


def test_a_narrow_table_of_all_calls_shows_which_are_allowed(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(fitted_tables, "width_of", lambda _: 80)
    _, output, _ = run(capsys, tmp_path, "--roles=admin", "--all")
    assert output.splitlines()[1].split()[1::2] == ["service", "method", "path", "allowed"]


@runs_openstack
def test_openstack_reports_mistakes_in_one_line(openstack):
    reader = Client(openstack.options[1])
    reader.options[-1] = "reader"
    service = "--service=glance"
    for client, arguments, status, text in (
        (openstack, ["--roles=,"], 1, "names no role. Write --roles reader,member"),
        (openstack, ["--roles=a", service], 1, "service: 'glance' is not one of ['nova', "),
        (reader, ["--roles=a"], 1, "Policy does not allow placement:insight:permissions"),
    ):
        result = client.run(CHECK, *arguments)
        assert result.returncode == status
        assert text in result.stderr
        assert "Traceback" not in result.stderr


@pytest.fixture
def responds(request):
    """An HTTP server that responds as a proxy or middleware does: statuses and bodies by path."""
    responses = request.param

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, body = responses.get(self.path, responses["other"])
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            """Log nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@runs_openstack
@pytest.mark.parametrize(
    "responds",
    [
        {"other": (401, b'{"error": {"code": 401}}')},
        {"other": (403, b'{"errors": []}')},
    ],
    indirect=True,
)
def test_openstack_reports_what_a_proxy_or_keystone_responds(responds):
    result = Client(responds).run(CHECK, "--roles=admin")
    assert result.returncode == 1
    assert result.stderr.startswith("GET /insight/permissions failed: ")
    assert re.search(r"\(HTTP 40[13]\)", result.stderr)
    assert result.stderr.count("\n") == 1


@runs_openstack
@pytest.mark.parametrize(
    "responds",
    [
        {"other": (404, b"<html>")},
        {"other": (404, b'{"errors": [{"detail": ""}]}')},
        {"other": (200, b"<html>")},
    ],
    indirect=True,
)
@pytest.mark.parametrize("command", [[CHECK, "--roles=admin"], ["placement dashboard"]])
def test_openstack_names_a_wrong_path_of_the_endpoint_as_a_cause(responds, command):
    result = Client(f"{responds}/horizon").run(*command)
    assert result.returncode == 1
    assert result.stderr.startswith("GET /insight")
    assert "the endpoint has the right path: --os-endpoint, or the catalog." in result.stderr
    assert result.stderr.count("\n") == 1
