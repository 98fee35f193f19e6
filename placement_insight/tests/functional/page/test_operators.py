"""What operators do with the dashboard in Chromium: search, filter, watch, read findings."""

import re
import shutil
import urllib.error

import pytest

from placement.tests.support.waiting import wait_until
from placement_insight.tests.functional.page.conftest import (
    GPU,
    HOST,
    MARKUP,
    MARKUP_NAME,
    SERVER,
    claim,
    expect,
    inventories,
    traits,
)
from placement_insight.tests.functional.page.service import Service

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("chromium"), pytest.mark.timeout(300)]

PAGE = "/insight/page/"
FAILED_REQUEST = "Failed to load resource"
MILLISECONDS = 60_000
ICON = "document.querySelector('link[rel=icon]').getAttribute('href')"


def opened(open_page, service, view="", **options):
    page = open_page(f"{service.url}{PAGE}{view}", **options)
    page.locator(".status.live").wait_for(timeout=MILLISECONDS)
    return page


def wait_for_text(page, text):
    page.get_by_text(text).first.wait_for(timeout=MILLISECONDS)


def names(page):
    return [name.strip() for name in page.locator(".hosts tbody th").all_inner_texts()]


def refuse(service):
    with pytest.raises(urllib.error.HTTPError):
        service.send("PUT", f"/allocations/{GPU}", claim(None, 999))


# --- search ---------------------------------------------------------------------------


def test_slash_focuses_the_search_and_enter_opens_the_first_result(small, open_page):
    page = opened(open_page, small)
    page.keyboard.press("/")
    page.keyboard.type("gpu1")
    page.get_by_role("link", name="gpu1").wait_for(timeout=MILLISECONDS)
    wait_for_text(page, "on host1")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/#/tree/{GPU}", timeout=MILLISECONDS)


def test_a_slash_in_a_field_is_a_letter(small, open_page):
    page = opened(open_page, small)
    page.get_by_label("Find").click()
    page.keyboard.type("a/b")
    expect(page.get_by_label("Find")).to_have_value("a/b", timeout=MILLISECONDS)


@pytest.mark.parametrize("text", [SERVER, SERVER[:6].upper()])
def test_consumers_are_found_by_uuid_or_its_beginning(small, open_page, text):
    page = opened(open_page, small, f"#/search/{text}", tolerated=FAILED_REQUEST)
    wait_for_text(page, SERVER)
    expect(page.get_by_role("list").get_by_role("listitem").last).to_contain_text("host1 VCPU 4")
    page.get_by_role("link", name="host1", exact=True).click()
    page.wait_for_url(f"**/#/tree/{HOST}", timeout=MILLISECONDS)


def test_a_text_that_nothing_has(small, open_page):
    page = opened(open_page, small, "#/search/nothing")
    wait_for_text(page, "No provider, consumer, project or recorded request matches")


def test_a_request_id_is_found(small_to_change, open_page):
    refuse(small_to_change)
    found = small_to_change.wait_for_records(1)[0]["request_id"]
    page = opened(open_page, small_to_change, f"#/search/{found}", tolerated=FAILED_REQUEST)
    page.get_by_role("link", name="1 refusal").click()
    wait_for_text(page, "Refused claim: ")


# --- filters and order ------------------------------------------------------------------


def test_disabled_hosts_are_not_free_and_can_be_selected(small_to_change, open_page):
    page = opened(open_page, small_to_change)
    wait_for_text(page, "16 free")
    path = f"/resource_providers/{MARKUP}/traits"
    small_to_change.send("PUT", path, traits(1, "COMPUTE_STATUS_DISABLED"))
    wait_for_text(page, "12 free")
    wait_for_text(page, "4 on disabled hosts")
    page.get_by_label("Status").select_option("disabled")
    wait_for_text(page, "on 1 host")
    change = small_to_change.send("GET", "/insight/changes?kind=traits")["changes"][0]
    page.get_by_role("link", name=MARKUP_NAME).click()
    wait_for_text(page, "Disabled just now by user admin, request")
    page.locator(".note").get_by_role("link", name=change["request_id"]).wait_for()
    page.go_back()
    assert names(page) == [f"{MARKUP_NAME}disabled"]
    page.get_by_label("Status").select_option("enabled")
    wait_until(lambda: names(page) == ["host1"])


def test_hosts_are_filtered_by_a_trait_of_their_tree(small_to_change, open_page):
    path = f"/resource_providers/{GPU}/traits"
    small_to_change.send("PUT", path, traits(1, "HW_CPU_X86_AVX2"))
    page = opened(open_page, small_to_change)
    wait_for_text(page, "on 2 hosts")
    page.get_by_label("Trait").fill("HW_CPU_X86_AVX2")
    wait_until(lambda: names(page) == ["host1"])


def test_hosts_keep_their_places_until_they_are_sorted_again(small_to_change, open_page):
    page = opened(open_page, small_to_change)
    wait_until(lambda: names(page) == ["host1", MARKUP_NAME])
    full = claim(None, 4)
    full["allocations"] = {MARKUP: full["allocations"][HOST]}
    small_to_change.send("PUT", f"/allocations/{GPU}", full)
    page.get_by_role("button", name="Sort again").wait_for(timeout=MILLISECONDS)
    assert names(page) == ["host1", MARKUP_NAME]
    page.get_by_role("button", name="Sort again").click()
    wait_until(lambda: names(page) == [MARKUP_NAME, "host1"])
    page.get_by_role("button", name="Sort again").wait_for(state="detached", timeout=MILLISECONDS)


def test_cells_by_capacity_can_be_chosen(small, open_page):
    page = opened(open_page, small)
    page.get_by_label("Cells").select_option("capacity")
    page.wait_for_url("**cells=capacity*", timeout=MILLISECONDS)
    page.get_by_role("application").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#map-focus")).to_contain_text("VCPU used", timeout=MILLISECONDS)


# --- the query of a shape -----------------------------------------------------------------


def test_words_without_a_field_stay_in_the_query(small, open_page):
    query = f"resources=VCPU:1&in_tree={HOST}"
    page = opened(open_page, small, f"#/shape?{query}")
    field = page.get_by_label("Query")
    expect(field).to_have_value(query, timeout=MILLISECONDS)
    page.get_by_role("button", name="Add group").click()
    page.get_by_label("Class").nth(1).fill("PGPU")
    page.get_by_label("Amount").nth(1).fill("1")
    grown = f"resources=VCPU:1&resources1=PGPU:1&in_tree={HOST}"
    expect(field).to_have_value(grown, timeout=MILLISECONDS)
    field.fill(f"resources=VCPU:2&in_tree={HOST}")
    expect(page.get_by_label("Amount").first).to_have_value("2", timeout=MILLISECONDS)
    page.get_by_role("button", name="Check").click()
    wait_for_text(page, "6 more claims on 1 host")


# --- watching -------------------------------------------------------------------------------


def test_new_refusals_show_in_the_title_and_the_icon_until_they_are_read(
    small_to_change, open_page
):
    refuse(small_to_change)
    small_to_change.wait_for_records(1)
    page = opened(open_page, small_to_change)
    wait_for_text(page, "Refused claim")
    assert page.title() == "Cloud · Placement"
    refuse(small_to_change)
    wait_until(lambda: page.title() == "(1) refused · Placement")
    assert page.evaluate(ICON) == "icon-refusals.svg"
    page.get_by_role("link", name="Requests 1 new refusals").click()
    wait_until(lambda: page.title() == "Requests · Placement")
    assert page.evaluate(ICON) == "icon.svg"


def test_a_lost_service_shows_in_the_title_and_the_icon(small_to_change, open_page):
    page = opened(open_page, small_to_change, tolerated=FAILED_REQUEST)
    small_to_change.stop()
    wait_until(lambda: page.title() == "Not connected · Placement")
    assert page.evaluate(ICON) == "icon-lost.svg"


def test_an_old_tab_says_so_and_is_current_at_once_when_it_is_seen(small, chromium):
    """A page of its own: its clock is not the one of other tests."""
    context = chromium.new_context()
    page = context.new_page()
    page.clock.install()
    audits: list[str] = []
    page.on("request", lambda request: "/findings" in request.url and audits.append(request.url))
    page.goto(f"{small.url}{PAGE}#/cloud")
    wait_for_text(page, "No errors")
    page.route("**/insight/**", lambda route: route.abort())
    hide = "(value) => Object.defineProperty(document, 'hidden', {value, configurable: true})"
    page.evaluate(hide, True)
    page.clock.fast_forward("01:00:00")
    expect(page.locator(".status")).to_contain_text(re.compile(r"State of [\d:]+, 1 h ago"))
    assert len(audits) == 1
    page.unroute_all()
    page.evaluate(hide, False)
    with page.expect_request("**/insight/findings", timeout=MILLISECONDS):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.locator(".status.live").wait_for(timeout=MILLISECONDS)
    expect(page.locator(".status")).not_to_contain_text("ago")
    context.close()


def test_the_header_has_the_release_and_cards_have_a_trend(small, open_page):
    page = opened(open_page, small)
    expect(page.locator(".installation")).to_have_text(
        small.send("GET", "/insight")["release"], timeout=MILLISECONDS
    )
    trend = page.get_by_role("img", name="20 % now")
    trend.wait_for(timeout=MILLISECONDS)


def test_unusable_is_for_the_shape_of_most_consumers_or_of_the_address(small, open_page):
    page = opened(open_page, small)
    wait_for_text(page, "when resources=VCPU:4&root_required=!COMPUTE_STATUS_DISABLED, the most")
    page = opened(open_page, small, "#/shape?resources=VCPU:3,MEMORY_MB:2")
    page.get_by_role("link", name="Use this shape").click()
    wait_for_text(page, "when resources=VCPU:3,MEMORY_MB:2 is claimed")


def test_the_wallboard_has_no_controls_and_escape_leaves_it(small, open_page):
    page = opened(open_page, small)
    page.get_by_role("button", name="Wallboard").click()
    page.locator("nav").wait_for(state="hidden", timeout=MILLISECONDS)
    assert page.locator(".filters").is_hidden()
    wait_for_text(page, "resources=VCPU:4&")  # the shape of "unusable"
    page.keyboard.press("Escape")
    page.locator("nav").wait_for(timeout=MILLISECONDS)


def test_the_wallboard_fits_the_screen(large, open_page):
    page = opened(open_page, large, tolerated="503")  # what an earlier page requested is computed
    page.set_viewport_size({"width": 2560, "height": 1440})
    page.goto(f"{large.url}{PAGE}#/cloud?wallboard=1")
    page.reload()
    page.locator(".shape-note").wait_for(timeout=MILLISECONDS)  # loaded later, above the map
    page.wait_for_function("document.documentElement.scrollHeight <= innerHeight")


def test_refusals_are_counted_by_the_hour(realistic, open_page):
    page = opened(open_page, realistic, "#/requests")
    wait_for_text(page, "2 refusals in 24 hours")
    row = page.locator(".summaries tr", has_text="not enough free")
    expect(row.locator(".number")).to_have_text("2", timeout=MILLISECONDS)
    # both in one hour, unless an hour began between them
    label = re.compile("^[12] in the busiest hour$")
    expect(row.locator(".hours")).to_have_attribute("aria-label", label, timeout=MILLISECONDS)


# --- changes ----------------------------------------------------------------------------------


def test_changes_are_shown_for_the_cloud_a_host_a_request_and_a_consumer(
    small_to_change, open_page
):
    path = f"/resource_providers/{HOST}/inventories"
    generation = small_to_change.send("GET", path)["resource_provider_generation"]
    resized = inventories(generation, VCPU=32, MEMORY_MB=32)
    small_to_change.send("PUT", path, resized)
    small_to_change.send("DELETE", f"/allocations/{SERVER}")
    page = opened(open_page, small_to_change, "#/changes?limit=1", tolerated=FAILED_REQUEST)
    rows = page.get_by_role("table", name="Changes").get_by_role("rowheader")
    expect(rows).to_have_text(re.compile(f"^consumer {SERVER}: released from host1"))
    page.get_by_role("link", name="Next page").click()
    expect(rows).to_have_text(re.compile("^host1: VCPU total 16 -> 32"))
    page.get_by_label("Kind").select_option("inventory")
    expect(rows).to_have_text(re.compile("^host1: VCPU total 16 -> 32"))
    page.get_by_role("link", name=re.compile("^req-")).click()
    page.wait_for_url("**/#/requests/req-*")
    expect(rows).to_have_text(re.compile("^host1: VCPU total 16 -> 32"))
    rows.get_by_role("link").click()
    page.wait_for_url(f"**/#/tree/{HOST}")
    expect(rows).to_have_count(5)
    small_to_change.send("PUT", f"/allocations/{SERVER}", claim(None, 2))
    expect(rows.first).to_have_text(re.compile(f"^server {SERVER}: placed"))
    page.get_by_role("link", name=SERVER).last.click()
    page.wait_for_url(f"**/#/search/{SERVER}")
    expect(rows).to_have_count(3)


def test_changes_that_are_not_recorded_are_not_said_to_be_none(small_data, tmp_path, open_page):
    shutil.copytree(small_data, tmp_path / "data")
    service = Service(tmp_path, OS_INSIGHT__HISTORY_ROWS="0")
    service.start()
    try:
        page = opened(open_page, service, "#/changes")
        wait_for_text(page, "Changes are not recorded: [insight]history_rows is 0.")
    finally:
        service.stop()


# --- findings ---------------------------------------------------------------------------------


def test_findings_have_a_count_links_and_the_commands_that_repair(realistic, open_page):
    document = realistic.send("GET", "/insight/findings")
    findings = document["findings"]
    page = opened(open_page, realistic, "#/findings")
    page.get_by_role("link", name="Findings", exact=True).wait_for(timeout=MILLISECONDS)
    expect(page.locator("main .note").first).to_have_text(re.compile(r"^As of \d\d:\d\d"))
    first = findings[0]["rows"]["provider"]
    panel = page.locator(".panel", has_text="reserved in use")
    assert "notice" in panel.inner_text()
    assert findings[0]["repair_command"] in panel.inner_text()
    panel.get_by_role("link", name=first["name"]).first.click()
    page.wait_for_url(f"**/#/tree/{first['uuid']}", timeout=MILLISECONDS)


CUT_SURVIVAL = {"domains": 3, "survive": 1, "undetermined": 2}


def test_the_page_begins_with_errors_refusals_the_fullest_class_and_changes(realistic, open_page):
    """Notices are no errors: they have no badge, and are not red."""
    document = realistic.send("GET", "/insight/findings")
    page = opened(open_page, realistic)
    now = page.get_by_role("list", name="Now").get_by_role("listitem")
    expect(now.first).to_have_text("No errors")
    expect(now.nth(1)).to_have_text(re.compile(r"^2 refused since \d\d:00: [A-Z_]+ \d"))
    expect(now.nth(2)).to_have_text(re.compile(r"^Fullest: [A-Z_]+ \d+ %$"))
    survives = re.compile(r"^\d+ of 2 CUSTOM_RACK_\* survive a failure$")
    expect(now.nth(4)).to_have_text(survives)
    expect(now.last).to_have_text(re.compile(r"^\d+ changes in the last hour$"))
    page.route("**/insight/survival*", lambda route: route.fulfill(json=CUT_SURVIVAL))
    one = [document["findings"][0] | {"severity": "error", "code": "over_capacity"}]
    page.route(
        "**/insight/findings", lambda route: route.fulfill(json=document | {"findings": one})
    )
    page.reload()
    expect(now.first).to_have_text("1 error: over capacity")
    expect(now.nth(4)).to_have_text("1 of 3 CUSTOM_RACK_* survive a failure, 2 not determined")
    page.get_by_role("link", name="Findings 1 errors").wait_for(timeout=MILLISECONDS)
    now.first.get_by_role("link").click()
    wait_until(lambda: page.title() == "1 error · Placement")


def test_the_rows_of_top_are_selected_by_state_and_class(realistic, open_page):
    top = realistic.send("GET", "/insight/top?full=true&limit=0")
    page = opened(open_page, realistic)
    of_class = realistic.send("GET", "/insight/top?class=VCPU&full=true")["selected"]
    card = page.locator(".card", has=page.get_by_role("button", name="VCPU", exact=True))
    expect(card.locator(".card-full")).to_have_text(re.compile(rf"^{of_class} hosts? full$"))
    full = f"{top['counts']['full']} of {top['counts']['hosts']} hosts full"
    page.get_by_role("link", name=full).click()
    expect(page.get_by_role("status").last.locator("p")).to_have_text(top["text"].split("\n"))
    hosts = page.locator("main tbody th")
    expect(hosts).to_have_text([host["name"] for host in top["hosts"]])
    page.get_by_label("State").select_option("disabled")
    expect(page.locator("main tbody td").last).to_contain_text("disabled")
    page.get_by_label("Class").select_option("VCPU")
    page.wait_for_url("**/#/hosts?state=disabled&class=VCPU")


def test_the_providers_of_a_finding_are_apart(realistic, open_page):
    page = opened(open_page, realistic, "#/findings?code=similar_names")
    wait_for_text(page, "all may be the host")
    rows = page.locator("tbody tr th").all_inner_texts()
    assert rows
    assert all(re.fullmatch(r"(\S+), \1\.\S+", row) for row in rows)


def test_a_consumer_with_two_devices_has_their_sum(small_to_change, open_page):
    second = {"name": "gpu2", "uuid": SERVER, "parent_provider_uuid": HOST}
    small_to_change.send("POST", "/resource_providers", second)
    path = f"/resource_providers/{SERVER}/inventories"
    small_to_change.send("PUT", path, inventories(0, PGPU=1))
    both = {uuid: {"resources": {"PGPU": 1}} for uuid in (GPU, SERVER)}
    small_to_change.send("PUT", f"/allocations/{MARKUP}", claim(None, 1) | {"allocations": both})
    page = opened(open_page, small_to_change, f"#/tree/{HOST}")
    wait_for_text(page, "PGPU 2")


def test_colors_of_the_system_leave_the_key_of_the_map(small, open_page):
    page = opened(open_page, small)
    page.emulate_media(forced_colors="active")
    adjusted = {"td.bar": "auto", "td div.bar": "none", ".legend .swatch": "none"}
    for selector, value in adjusted.items():
        style = "element => getComputedStyle(element).forcedColorAdjust"
        assert page.locator(selector).first.evaluate(style) == value


def test_findings_of_one_code_are_shown_alone(realistic, open_page):
    page = opened(open_page, realistic, "#/findings")
    page.get_by_role("link", name=re.compile("^similar names")).click(timeout=MILLISECONDS)
    expect(page.locator(".panel h2")).to_have_text(re.compile("^similar names"))
    page.get_by_role("link", name="All findings").click()
    expect(page.locator(".panel h2").first).to_have_text(re.compile("^reserved in use"))


# --- names of nova and keystone ---------------------------------------------------------------


def test_names_are_shown_beside_uuids_and_found(small, open_page):
    """The proxy of ``openstack placement dashboard`` has them; the service has none."""
    names = {"servers": {SERVER: "web-1"}, "projects": {"demo": "shop"}, "aggregates": {}}
    page = opened(open_page, small, "#/search/web-1", tolerated=FAILED_REQUEST)
    settings = {"headers": {"X-Auth-Token": "admin"}, "region": "north", "has_names": True}
    page.route("**/insight/page/settings.json", lambda route: route.fulfill(json=settings))
    page.route("**/insight/names", lambda route: route.fulfill(json=names))
    page.reload()
    wait_for_text(page, SERVER)
    wait_for_text(page, "shop")
    expect(page.locator(".installation")).to_contain_text("north", timeout=MILLISECONDS)


def test_recorded_queries_have_names_in_place_of_uuids(small_to_change, open_page):
    query = f"resources=VCPU:99&in_tree={HOST}&required=HW_CPU_X86_AVX2"
    small_to_change.send("GET", f"/allocation_candidates?{query}")
    small_to_change.wait_for_records(1)
    page = opened(open_page, small_to_change, "#/requests")
    shown = page.locator(".requests .query")
    expect(shown).to_have_text(query.replace(HOST, "host1"), timeout=MILLISECONDS)
    expect(shown.get_by_title(HOST)).to_have_text(re.compile("host1"))
    page.get_by_role("link", name="No candidates").click()
    expect(page.locator("dd.query")).to_have_text(query, timeout=MILLISECONDS)
