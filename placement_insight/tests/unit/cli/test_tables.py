"""Tables fit the terminal; UUIDs are shown whole."""

import io
import json
import re
from uuid import UUID

import pytest
from prettytable import PrettyTable

from placement_insight.cli import allocation, explanation, tables
from placement_insight.cli.allocation import ListAllocationRequest
from placement_insight.cli.cells import Shown, facts
from placement_insight.fitted_tables import broken_columns, fitted, fitted_lines, shortened

UUIDS = [str(UUID(int=number)) for number in range(1, 4)]
COLUMNS = ("uuid", "project", "rows", "cause", "consumers")
ROWS = [
    (uuid, "0" * 32, f"consumer: web ({uuid}); provider: cn1 ({UUIDS[0]}): VCPU 4", "x" * 80, 3)
    for uuid in UUIDS
]


def lines_of(width):
    table = fitted(COLUMNS, ROWS, width, ("uuid", "rows"))
    return table.columns, table.rows


def width_of(columns, rows):
    """The width of the table that people see."""
    table = PrettyTable(columns)
    table.add_rows(rows)
    return max(map(len, table.get_string().splitlines()))


@pytest.mark.parametrize("width", [40, 60, 80, 120, 160, 200, 400])
def test_a_table_is_not_wider_than_the_terminal(width):
    columns, rows = lines_of(width)
    assert width_of(columns, rows) <= width
    for row in rows:
        for text in row:
            for part in re.findall(r"[0-9a-f]+-[0-9a-f-]*", str(text)):
                UUID(part)
    assert columns[0] == "uuid"


def test_less_important_columns_are_left_out():
    assert lines_of(80)[0] == ["uuid", "rows"]
    assert lines_of(400) == (COLUMNS, ROWS)
    notes = list(fitted(COLUMNS, ROWS, 80, ("uuid", "rows")).notes())
    assert notes == [
        f"In all rows: project {'0' * 32}, consumers 3.",
        "Columns left out: cause. See --column and -f json.",
    ]
    assert list(fitted(COLUMNS, ROWS, 400, ("uuid",)).notes()) == []


def test_numbers_and_texts_that_are_equal_are_one_line_below():
    rows = [(f"cn{number}", "█  100%\nVCPU", 1, number, "x" * 60) for number in range(2)]
    table = fitted(("name", "used", "hosts", "stuck", "reason"), rows, 60, ("name", "stuck"))
    assert list(table.columns) == ["name", "stuck"]
    assert next(table.notes()) == "In all rows: used █ 100% VCPU, hosts 1."
    chosen = fitted(("name", "hosts", "reason"), [("cn1", 1, "x" * 60)] * 2, 40, ("hosts",))
    assert "hosts" in chosen.columns


def test_uuids_that_are_wider_than_a_line_are_an_ellipsis():
    text = f"no host has the aggregates {', '.join(UUIDS)} of its host (req-{UUIDS[0]})"
    ((shown,),) = broken_columns(("reason",), [(text,)], 33)
    assert shown == "no host has the aggregates …\nof its host (…)"
    ((shown,),) = broken_columns(("reason",), [(text,)], 46)
    assert all(uuid in shown for uuid in UUIDS)


def test_the_domain_that_all_names_share_is_cut():
    names = [f"cmp-az1-r04-0{number}.dc1.example.org" for number in range(3)]
    rows = [(uuid, names[0], name) for uuid, name in zip(UUIDS, names[1:], strict=False)]
    table = fitted(("consumer", "from", "to"), rows, 80, ("to", "consumer", "from"))
    assert table.columns == ["consumer", "from", "to"]
    assert table.rows[0] == [UUIDS[0], "cmp-az1-r04-00", "cmp-az1-r04-01"]
    assert list(table.notes()) == ["Names end with .dc1.example.org: from, to."]
    narrow = fitted(("consumer", "from", "to"), rows, 60, ("to", "consumer", "from"))
    assert narrow.columns == ["consumer", "to"]
    assert list(narrow.notes()) == [
        "Names end with .dc1.example.org: to.",
        "In all rows: from cmp-az1-r04-00.dc1.example.org.",
    ]


def test_numbers_without_a_column_are_joined():
    classes = ("CUSTOM_GPU", "DISK_GB", "MEMORY_MB", "PCPU", "VCPU", "VGPU")
    rows = [
        (uuid, 168, 7 + number, 16760 + number, 14729216 + number, 0, number, 8 + number)
        for number, uuid in enumerate(UUIDS)
    ]
    table = fitted(
        ("aggregate", "consumers", *classes), rows, 80, ("aggregate", "consumers", "VCPU")
    )
    assert table.columns == ["aggregate", "consumers", "VCPU", "more"]
    joined = "CUSTOM_GPU=7 DISK_GB=16760 MEMORY_MB=14729216 VGPU=8"
    assert table.rows[0][3].replace("\n", " ") == joined
    assert width_of(table.columns, table.rows) <= 80
    narrow = fitted(("aggregate", "consumers", *classes), rows, 60, ("aggregate", "consumers"))
    assert narrow.left_out == [*classes]


def test_chosen_columns_stay_and_uuids_are_whole():
    request = "resources=VCPU:8,MEMORY_MB:16384&required=CUSTOM_NVIDIA_H100"
    columns = ("request_id", "request")
    (row,) = broken_columns(columns, [(f"req-{UUIDS[0]}", request)], 80)
    assert row == [f"req-{UUIDS[0]}", request.replace("&", "&\n")]


def test_80_characters_have_the_request_beside_time_reason_and_count():
    command = ListAllocationRequest
    row = ("2026-11-26T03:21:46Z", "unknown_trait", 1, "resources=VCPU:4&" * 9, "req-" + UUIDS[0])
    table = fitted(
        ("at", "reason", "count", "request", "request_id"), [row], 80, command.important
    )
    assert table.columns == ["at", "reason", "count", "request"]
    assert table.rows[0][3] == "\n".join(["resources=VCPU:4&"] * 5 + ["resources=VCPU:4&…"])
    assert table.left_out == ["request_id"]


def test_an_object_is_one_row_and_none_is_empty():
    cell = Shown({"VCPU": 1, "DISK_GB": 2}, "\n".join)
    assert tables.in_one_line((cell, None, 7)) == ["VCPU; DISK_GB", "", 7]


def test_nested_values_are_json_for_scripts():
    values = [{"a": [1, None, True]}, ["ü"], Shown({"x": "'"}, str), "text", 3]
    shown = tables.with_json(values)
    assert [json.loads(text) for text in shown[:3]] == [{"a": [1, None, True]}, ["ü"], {"x": "'"}]
    assert shown[3:] == ["text", 3]


def test_lines_of_fields_break_no_uuid_and_no_name():
    text = f"not in aggregate {UUIDS[0]}, best: new-az2-r11-02 has 96 free\nlimit=1"
    names = ("query", "text", "without", "none", "fits")
    values = tables.wrapped_values(
        names, [f"member_of=in:{UUIDS[0]},{UUIDS[1]}", text, [], None, True], 60
    )
    assert values[0] == f"member_of=in:{UUIDS[0]},\n{UUIDS[1]}"
    assert all(len(line) <= 60 - len("without") - 7 for line in values[1].split("\n"))
    assert re.sub(r"\s+", " ", values[1]) == text.replace("\n", " ")
    assert UUIDS[0] in values[1]
    assert "new-az2-r11-02" in values[1]
    assert values[2:] == ["", "", True]


def test_uuids_beside_names_are_left_out_before_a_text_is_cut():
    line = f"provider: cn1 ({UUIDS[0]}): VCPU 4, capacity 2"
    assert shortened(line, 40) == "provider: cn1: VCPU 4, capacity 2"
    assert shortened(line, 25) == "provider: cn1: VCPU 4, c…"
    assert shortened(line, 60) == f"provider: cn1 ({UUIDS[0]}): VCPU…"
    assert shortened(line, len(line)) == line
    assert shortened(f"trees: {UUIDS[0]}", 20) == "trees:…"


def test_nested_values_of_a_table_are_json():
    assert tables.in_one_line(({"VCPU": 1}, [], ["a"])) == ['{"VCPU": 1}', "", '["a"]']
    assert facts({"resources": {"VCPU": None}}).human_readable() == 'resources: {"VCPU": null}'


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_sentences_fit_a_terminal_and_are_whole_in_a_pipe(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    text = f"No host:\n  cmp-12: no other enabled host has {UUIDS[0]} of its host"
    assert fitted_lines(text, io.StringIO()) == text
    assert fitted_lines(text, Terminal()).split("\n") == [
        "No host:",
        "  cmp-12: no other enabled host has",
        f"    {UUIDS[0]}",
        "    of its host",
    ]


@pytest.mark.parametrize("width", [80, 90, 100, 110, 120])
def test_a_uuid_without_a_name_is_more_important_than_the_column_after_it(width):
    """Who released what: the name of a consumer that was deleted is not known."""
    rows = [("02:14", f"consumer {uuid}: released from cn1 (VCPU 4)", "r" * 40) for uuid in UUIDS]
    table = fitted(("at", "text", "request_id"), rows, width, ("at", "text", "request_id"))
    assert all(uuid in row[1] for uuid, row in zip(UUIDS, table.rows, strict=True))
    assert width_of(table.columns, table.rows) <= width


def test_wide_characters_count_twice():
    uuid, name = UUIDS[0], "研发部" * 9
    fit = fitted(["uuid", "name"], [[uuid, name]], 80, ["uuid", "name"])
    columns, ((shown_uuid, shown_name),) = fit.columns, fit.rows
    assert (columns, shown_uuid) == (["uuid", "name"], uuid)
    table = PrettyTable(columns)
    table.add_row([shown_uuid, shown_name])
    assert len(table.get_string().splitlines()[0]) <= 80
    assert shown_name.replace("\n", "") == name


def test_a_recorded_claim_without_a_sentence_is_listed_with_its_parts():
    claim = {"consumer": UUIDS[0]}
    listed = allocation._request({"claim": claim, "explanation": {}}, None)
    assert listed.human_readable() == facts(claim).human_readable() != facts({}).human_readable()
    assert listed.machine_readable() == claim


@pytest.mark.parametrize(("own_time", "explained_at"), [({}, "02:14"), ({"at": "02:10"}, "02:10")])
def test_the_time_of_an_explanation_is_shown_beside_that_of_the_request(own_time, explained_at):
    """Equal requests of an hour have the explanation of the first one."""
    names = ["kind", "reason", "request_id", "global_request_id", "project_id", "user_id", "query"]
    times = {"at": "02:50", "first_at": "02:14", "last_at": "02:59"}
    counts = {"count": 9, "superseded": 0, "is_superseded": False}
    document = dict.fromkeys(names, "") | times | counts | {"explanation": own_time}
    fields = explanation.recorded(document, {}, "openstack")
    assert (fields["at"], fields["explained_at"]) == ("02:50", explained_at)


def test_a_lost_race_that_another_operation_supersedes_is_not_said_to_be_of_the_same():
    names = [
        "reason",
        "request_id",
        "global_request_id",
        "project_id",
        "user_id",
        "at",
        "first_at",
    ]
    race = {"kind": "lost_race", "is_superseded": True, "superseded": 1, "claim": None}
    document = dict.fromkeys((*names, "count", "last_at"), "") | race | {"explanation": {}}
    shown = explanation.recorded(document, {}, "openstack")["superseded"]
    sentence = "Superseded: a later request found candidates or was accepted"
    assert (shown.human_readable(), shown.machine_readable()) == (sentence, 1)
