import json
import os
import subprocess
from urllib.parse import unquote

import pytest

from placement_compare.model import Read, Response
from placement_compare.run import compare, curl, without_limit


class Fake:
    """A service with canned candidates; keeps the requests."""

    prefix = ""

    def __init__(self, names):
        self.names = names
        self.requests = []

    def get(self, read):
        self.requests.append(read.path)
        names = self.names[:2] if "limit=2" in read.path else self.names
        body = {"allocation_requests": names, "provider_summaries": {}}
        return Response(200, json.dumps(body).encode(), 0.5)


def compared(old, new, path):
    return next(compare(old, new, [Read(path, (1, 39))]))


CUT = "/allocation_candidates?resources=VCPU:1&limit=2"


def test_other_candidates_within_the_limit_are_equal_if_the_whole_sets_are():
    result = compared(Fake(["a", "b", "c"]), Fake(["c", "b", "a"]), CUT)
    assert result.differences == ()
    assert result.by_limit


def test_whole_sets_that_differ_are_a_difference():
    result = compared(Fake(["a", "b", "c"]), Fake(["d", "b", "a"]), CUT)
    assert [difference.where for difference in result.differences] == ["only old", "only new"]


def test_without_a_cut_the_limit_is_kept():
    old, new = Fake(["a"]), Fake(["b"])
    assert not compared(old, new, CUT).by_limit
    assert old.requests == new.requests == [CUT]


def test_the_service_that_is_asked_first_alternates():
    sent = []

    class Recorder(Fake):
        def get(self, read):
            sent.append(self.names)
            return super().get(read)

    read = Read("/traits", (1, 39))
    list(compare(Recorder(["old"]), Recorder(["new"]), [read, read]))
    assert sent == [["old"], ["new"], ["new"], ["old"]]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (CUT, "/allocation_candidates?resources=VCPU:1"),
        (
            "/allocation_candidates?limit=2&required=!A,in:B&required=C",
            "/allocation_candidates?required=!A,in:B&required=C",
        ),
    ],
)
def test_only_the_limit_is_removed(path, expected):
    assert without_limit(path) == expected


def test_the_curl_command_contains_no_token():
    command = curl("http://new/placement", Read("/traits?name=in:A,B", (1, 6)))
    assert "'http://new/placement/traits?name=in:A,B'" in command
    assert "placement 1.6" in command
    assert "$OS_TOKEN" in command


@pytest.mark.parametrize(
    "name",
    [
        "'$(touch${IFS}owned)'",
        "';touch${IFS}owned;'",
        "`touch${IFS}owned`",
        "\n touch owned\n",
        "[1-9]{a,b}",
        "\x1b[31m",
        "\u200b\xe9",
    ],
)
def test_a_shell_passes_the_url_of_a_logged_request_to_curl_unchanged(tmp_path, name):
    path = f"/resource_providers?name={name}"
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "curl").write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    (folder / "curl").chmod(0o755)
    command = curl("http://new/placement", Read(path, (1, 39)))
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=tmp_path,
        env={"PATH": f"{folder}:{os.environ['PATH']}", "OS_TOKEN": "secret"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not (tmp_path / "owned").exists()
    assert command.isprintable()
    options, *_, url = done.stdout.splitlines()
    assert unquote(url) == f"http://new/placement{path}"
    assert options == "-gsS"  # without -g, curl itself expands [1-9] and {a,b}
