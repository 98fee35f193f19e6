"""Each view of the dashboard in Chromium: contents, updates, errors, accessibility."""

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
)
from placement_insight.tests.functional.page.service import Service

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("chromium"), pytest.mark.timeout(300)]

PAGE = "/insight/page/"
VIEWS = [
    "#/cloud",
    "#/cloud?wallboard=1",
    "#/hosts",
    f"#/tree/{HOST}",
    f"#/tree/{GPU}",
    "#/consumers?class=VCPU",
    "#/survival",
    "#/shape?resources=VCPU:999",
    "#/requests",
    "#/changes",
    "#/findings",
    "#/search/host",
]
# The console reports a response that is not 2xx, which is what these tests provoke.
FAILED_REQUEST = "Failed to load resource"
NOTHING_MOVES = "document.getAnimations().every((each) => each.playState !== 'running')"
SCROLL_WIDTH = "document.documentElement.scrollWidth"
ALL_NAMES_CONTAIN = """(text) => {
    const names = [...document.querySelectorAll("table tbody th")];
    return names.length > 0 && names.every((name) => name.textContent.includes(text));
}"""


def text_of(page, selector="main"):
    return page.locator(selector).inner_text()


def wait_for_text(page, text, seconds=60):
    page.get_by_text(text).first.wait_for(timeout=seconds * 1000)


# --- contents ---------------------------------------------------------------------


def test_the_cloud_shows_totals_and_hosts(small, open_page):
    page = open_page(small.url + PAGE)
    wait_for_text(page, "on 2 hosts")
    card = page.locator(".card", has_text="VCPU")
    assert "20 % used" in card.inner_text()
    assert "16 free" in card.inner_text()
    names = page.locator("table tbody th").all_inner_texts()
    assert [name.strip() for name in names] == ["host1", MARKUP_NAME]


def test_names_with_markup_are_text(small, open_page):
    page = open_page(f"{small.url}{PAGE}#/tree/{MARKUP}")
    wait_for_text(page, MARKUP_NAME)
    assert page.title() == f"{MARKUP_NAME} · Placement"
    assert page.locator("main img").count() == 0


def test_a_view_that_does_not_exist_says_so(small, open_page):
    page = open_page(f"{small.url}{PAGE}#/clouds?class=VCPU")
    wait_for_text(page, "There is no view clouds.")
    page.get_by_role("link", name="Show the cloud").click()
    wait_for_text(page, "on 2 hosts")


def test_cards_count_what_the_filter_shows_and_the_table_is_a_file(small, open_page):
    page = open_page(f"{small.url}{PAGE}#/cloud?find=host1")
    wait_for_text(page, "Sums of 1 host that the filter shows.")
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV").click()
    lines = saved.value.path().read_text().splitlines()
    assert saved.value.suggested_filename == "VCPU.csv"
    assert [line.split(",")[0] for line in lines] == ["name", '"host1"']


def test_the_reason_replaces_the_loading_providers(small, open_page):
    page = open_page(small.url + PAGE, tolerated="Failed to load resource")
    page.goto("about:blank")
    page.route("**/insight/providers*", lambda route: route.fulfill(status=500, body="no"))
    page.goto(small.url + PAGE)
    page.get_by_role("alert").filter(has_text="The providers cannot be shown.").wait_for()
    assert "Loading" not in text_of(page)


def test_the_first_line_does_not_wait_for_the_providers(small, open_page):
    page = open_page(small.url + PAGE)
    page.goto("about:blank")
    page.route("**/insight/providers*", lambda _: None)  # they never arrive
    page.goto(small.url + PAGE)
    expect(page.get_by_role("list", name="Now")).to_contain_text("0 of 2 hosts full")
    assert "Loading the providers" in text_of(page)


def test_a_root_opens_from_the_table(small, open_page):
    page = open_page(small.url + PAGE)
    page.get_by_role("link", name="host1").click()
    wait_for_text(page, "Consumers")
    assert page.url.endswith(f"#/tree/{HOST}")


def test_a_host_that_is_gone(small, open_page):
    page = open_page(f"{small.url}{PAGE}#/tree/{HOST}")
    page.get_by_role("button", name="Find other hosts for its consumers").press("Enter")
    wait_for_text(page, "1 of 1 consumer fits elsewhere, on 1 host")
    moves = page.get_by_role("table").filter(has_text="Place in the order")
    expect(moves.get_by_role("link", name=MARKUP_NAME)).to_be_visible()
    page.goto(f"{small.url}{PAGE}#/tree/{MARKUP}")
    page.get_by_role("button", name="Find other hosts for its consumers").click()
    wait_for_text(page, "no consumers to move")


def test_a_shape_fits_after_a_move(small, open_page):
    page = open_page(f"{small.url}{PAGE}#/shape?resources=VCPU:13")
    page.get_by_role("button", name="Find the fewest moves").press("Enter")
    wait_for_text(page, "host1: 1 consumer moves")
    moves = page.get_by_role("table").filter(has_text="Consumers that move")
    expect(moves.get_by_role("link", name=MARKUP_NAME)).to_be_visible()
    page.goto(f"{small.url}{PAGE}#/shape?resources=VCPU:17")
    page.get_by_role("button", name="Find the fewest moves").click()
    wait_for_text(page, "the request does not fit on an empty host either")


def test_what_survives_a_failure(small_to_change, open_page):
    service = small_to_change
    aggregate = "5e08ea53-c4c6-448e-9334-ac4953de3cfa"

    def configure(host, noun, names):
        path = f"/resource_providers/{host}"
        generation = service.send("GET", path)["generation"]
        body = {"resource_provider_generation": generation, noun: names}
        service.send("PUT", f"{path}/{noun}", body)

    for host in (HOST, MARKUP):
        configure(host, "aggregates", [aggregate])
        configure(host, "traits", ["COMPUTE_NODE"])
    page = open_page(f"{service.url}{PAGE}#/survival")
    wait_for_text(page, "0 of 1 aggregate survives; 1 does not")
    domains = page.get_by_role("list", name="Outcomes")
    assert "does not survive" in domains.inner_text()
    assert "2 hosts" in domains.inner_text()
    failures = page.get_by_role("table").filter(has_text="Without a host")
    assert "there is no other enabled host" in failures.inner_text()
    for host, trait in ((HOST, "CUSTOM_RACK_1"), (MARKUP, "CUSTOM_RACK_2")):
        service.send("PUT", f"/traits/{trait}")
        configure(host, "traits", ["COMPUTE_NODE", trait])
    page.get_by_label("Fails at once").select_option("root_trait:CUSTOM_RACK_")
    wait_for_text(page, "2 of 2 groups survive")
    racks = page.get_by_role("list", name="Outcomes").get_by_role("link")
    assert racks.all_inner_texts() == ["1", "2"]


def test_the_tree_shows_children_inventories_and_consumers(small, open_page):
    page = open_page(f"{small.url}{PAGE}#/tree/{HOST}")
    wait_for_text(page, SERVER)
    assert page.locator("h1").inner_text().strip() == "host1"
    assert "4 / 16" in text_of(page)
    assert "INSTANCE" in text_of(page)
    page.get_by_label("Rows").select_option("projects")
    expect(page.get_by_role("table", name="1 project")).to_contain_text("VCPU")


def test_a_device_has_a_page_with_its_consumers(small_to_change, open_page):
    both = {HOST: {"resources": {"VCPU": 1}}, GPU: {"resources": {"PGPU": 1}}}
    service = small_to_change
    service.send("PUT", f"/allocations/{MARKUP}", claim(None, 1) | {"allocations": both})
    page = open_page(f"{service.url}{PAGE}#/tree/{HOST}")
    consumers = page.get_by_role("table", name="2 consumers")
    expect(consumers.get_by_role("row", name=MARKUP)).to_contain_text("gpu1")
    consumers.get_by_role("link", name="gpu1").click()
    page.wait_for_url(f"**/#/tree/{GPU}")
    expect(page.locator("h1")).to_have_text("gpu1 ")
    expect(page.get_by_role("table", name="1 consumer")).to_contain_text(MARKUP)
    page.locator(".crumbs").get_by_role("link", name="host1").click()
    expect(consumers).to_contain_text(SERVER)


def test_the_card_of_a_class_shows_who_uses_it(small_to_change, open_page):
    service, other = small_to_change, "00000000-5b34-4c68-9d0e-2f4b6a8c0d11"
    both = {MARKUP: {"resources": {"VCPU": 1}}, GPU: {"resources": {"PGPU": 1}}}
    service.send("PUT", f"/allocations/{other}", claim(None, 1) | {"allocations": both})
    page = open_page(service.url + PAGE)
    page.get_by_role("link", name="Consumers of PGPU").click()
    wait_for_text(page, "Who uses PGPU?")
    row = page.get_by_role("table", name="1 consumer").get_by_role("row").last
    cells = row.get_by_role("cell")
    expect(row.get_by_role("rowheader")).to_have_text(f" {other}")
    expect(cells.nth(0)).to_have_text("1")
    expect(cells.nth(1)).to_have_text("host1")
    expect(cells.nth(2)).to_have_text("gpu1")
    page.get_by_label("Class").select_option("VCPU")
    rows = page.get_by_role("table", name="2 consumers").get_by_role("rowheader")
    expect(rows).to_have_text([f" {SERVER}", f" {other}"])
    page.route(
        "**/insight/consumers?*limit=1000",
        lambda route: route.continue_(url=route.request.url.replace("1000", "1")),
    )
    page.reload()
    wait_for_text(
        page, "Only the first 1 consumers by UUID are read: they use 1 of the 5 VCPU in use."
    )
    page.get_by_role("button", name="Read 10,000").click()
    expect(rows).to_have_count(2)


def test_a_provider_that_does_not_exist(small, open_page):
    page = open_page(f"{small.url}{PAGE}#/tree/{SERVER}")
    wait_for_text(page, "There is no provider")
    page.get_by_role("link", name="its changes").click()
    wait_for_text(page, "No change is recorded")


def test_an_empty_cloud_says_what_comes_first(empty, open_page):
    page = open_page(empty.url + PAGE)
    wait_for_text(page, "There are no resource providers yet")


@pytest.mark.parametrize(
    ("view", "text"),
    [
        (f"#/tree/{HOST}", "There is no provider"),
        ("#/tree/%zz", "There is no provider"),
        ("#/shape?resources=VCPU:1", "It does not fit"),
        ("#/requests", "No refusal is recorded"),
        ("#/changes", "No change is recorded. All changes since"),
        ("#/findings", "The audit finds nothing to repair"),
    ],
)
def test_each_view_of_an_empty_cloud_says_what_is_missing(empty, open_page, view, text):
    wait_for_text(open_page(empty.url + PAGE + view), text)


def test_a_shape_that_fits_is_counted(small, open_page):
    page = open_page(f"{small.url}{PAGE}#/shape?resources=VCPU:4")
    wait_for_text(page, "4 more claims on 2 hosts")


def test_a_shape_that_does_not_fit_is_explained(small, open_page):
    page = open_page(f"{small.url}{PAGE}#/shape")
    page.get_by_label("only enabled hosts").uncheck()
    page.get_by_label("Amount").first.fill("999")
    page.get_by_label("Class").nth(1).fill("")
    expect(page.get_by_label("Query")).to_have_value("resources=VCPU:999", timeout=60_000)
    page.get_by_role("button", name="Check").click()
    wait_for_text(page, "None of 2 hosts can serve the request")
    assert "resources=VCPU:999" in page.locator(".funnel").inner_text()


def test_a_query_that_is_wrong_shows_the_error(small, open_page):
    page = open_page(f"{small.url}{PAGE}#/shape?resources=VCPU:none", tolerated=FAILED_REQUEST)
    wait_for_text(page, "The capacity cannot be shown")


def test_a_refused_claim_is_listed_and_opens(small_to_change, open_page):
    with pytest.raises(urllib.error.HTTPError):
        small_to_change.send("PUT", f"/allocations/{MARKUP}", claim(None, 16))
    small_to_change.wait_for_records(1)
    page = open_page(f"{small_to_change.url}{PAGE}#/requests")
    page.get_by_role("link", name="Refused claim").first.click()
    wait_for_text(page, "Refused claim: not enough free")
    assert page.locator(".fact > .label", has_text="state").count() == 0  # an empty one
    page.get_by_role("link", name="host1").last.click()
    wait_for_text(page, SERVER)


def test_a_request_id_opens_its_explanation(small_to_change, open_page):
    small_to_change.send("GET", "/allocation_candidates?resources=VCPU:999")
    small_to_change.wait_for_records(1)
    page = open_page(f"{small_to_change.url}{PAGE}#/requests")
    link = page.get_by_role("link", name="No candidates").first
    link.wait_for(timeout=60_000)
    page = open_page(f"{small_to_change.url}{PAGE}{link.get_attribute('href')}")
    wait_for_text(page, "No candidates: unit limits")
    assert "None of 2 hosts can serve the request" in text_of(page)


def test_a_request_id_without_record(small, open_page):
    page = open_page(f"{small.url}{PAGE}#/requests/req-unknown", tolerated=FAILED_REQUEST)
    wait_for_text(page, "req-unknown")


# --- updates and errors -----------------------------------------------------------


def test_a_claim_shows_without_a_reload(small_to_change, open_page):
    page = open_page(small_to_change.url + PAGE)
    wait_for_text(page, "20 % used")
    small_to_change.send("PUT", f"/allocations/{SERVER}", claim(1, 14))
    wait_for_text(page, "70 % used")


def test_a_service_that_stops_shows_as_such_and_comes_back(small_to_change, open_page):
    page = open_page(small_to_change.url + PAGE, tolerated=FAILED_REQUEST)
    wait_for_text(page, "Live")
    small_to_change.stop()
    wait_for_text(page, "The service does not respond")
    assert "State of" in text_of(page, "header")
    small_to_change.start()
    page.locator(".status.live").wait_for(timeout=60_000)


def test_an_expired_token_shows_as_such(small, open_page):
    page = open_page(small.url + PAGE, tolerated=FAILED_REQUEST)
    wait_for_text(page, "Live")
    page.route("**/insight/providers*", lambda route: route.fulfill(status=401, body="{}"))
    wait_for_text(page, "The token is missing or expired")
    page.unroute("**/insight/providers*")
    page.locator(".status.live").wait_for(timeout=60_000)


# --- accessibility and layout -----------------------------------------------------


@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_and_no_view_is_wider_than_the_window(small, open_page, view):
    """In one page: most of the time of a test is spent on opening it."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = open_page(small.url + PAGE + view, tolerated=FAILED_REQUEST)
    page.locator(".status.live").wait_for(timeout=60_000)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        wait_until(lambda: page.evaluate(NOTHING_MOVES))
        results = axe.run(page)
        assert results.violations_count == 0, (scheme, results.generate_report())
    assert page.locator("table:not([aria-label])").count() == 0
    for width in (320, 3840):
        page.set_viewport_size({"width": width, "height": 900})
        wait_until(lambda width=width: page.evaluate(SCROLL_WIDTH) <= width)


def test_the_keyboard_reaches_a_root_of_the_map(small, open_page):
    page = open_page(small.url + PAGE)
    wait_for_text(page, "on 2 hosts")
    page.get_by_role("application").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#map-focus")).to_contain_text("VCPU used", timeout=60_000)
    page.keyboard.press("Enter")
    wait_for_text(page, "Consumers")


def test_responses_that_a_limit_cut_are_counted(small_data, tmp_path, open_page):
    shutil.copytree(small_data, tmp_path / "data")
    metrics = {"OS_METRICS__ENABLED": "true", "OS_METRICS__FOLDER": str(tmp_path / "metrics")}
    service = Service(tmp_path, **metrics)
    service.start()
    try:
        for limit in (1, 1, 1, 2):
            service.send("GET", f"/allocation_candidates?resources=VCPU:1&limit={limit}")
        page = open_page(f"{service.url}{PAGE}#/requests")
        wait_for_text(page, "75 % of 4 responses with candidates left out hosts")
        assert "because of a limit, 1 on average." in text_of(page)
        page.wait_for_load_state("networkidle")  # no request may come after the service
    finally:
        service.stop()


# --- 10,000 roots -----------------------------------------------------------------


@pytest.fixture
def open_large(large, open_page):
    """Return a function that opens an address of 10,000 hosts.

    The service may still compute what a page requested that was left: it refuses a part of the
    requests of the next page for a moment, and the page sends them again.
    """
    return lambda address="": open_page(f"{large.url}{PAGE}{address}", tolerated="503")


def test_ten_thousand_roots_are_drawn_and_can_be_found(open_large):
    page = open_large()
    wait_for_text(page, "on 10,000 hosts")
    page.get_by_label("Find").fill("busy-5")
    wait_until(lambda: page.evaluate(ALL_NAMES_CONTAIN, "busy-5"))
    page.get_by_label("Find").fill("")
    page.get_by_label("Group by").select_option("aggregate")
    wait_for_text(page, "on 10,000 hosts")


def test_each_view_of_ten_thousand_roots(open_large):
    page = open_large()
    page.locator("table tbody a").first.click()
    wait_for_text(page, "Consumers")
    page = open_large("#/shape?resources=VCPU:500")
    wait_for_text(page, "more claims on 5,003 hosts")
    page = open_large("#/shape?resources=VCPU:4096")
    wait_for_text(page, "None of 10,000 hosts can serve the request")
    page = open_large("#/findings")
    wait_for_text(page, "The audit")
