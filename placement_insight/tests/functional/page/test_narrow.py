"""On a phone: nothing is outside of the screen, nothing is cut off, no word is broken."""

import pytest

from placement.tests.support.waiting import wait_until
from placement_insight.tests.functional.page.conftest import FIVE_GPUS, HOST, LONG_NAME, LONG_TRAIT

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("chromium"), pytest.mark.timeout(300)]

PAGE = "/insight/page/"
EXPLAINED = f"#/shape?{FIVE_GPUS}&required={LONG_TRAIT}&in_tree={HOST}"
VIEWS = {
    "#/cloud": "Recent refusals",
    "#/cloud?by=aggregate&cells=capacity&status=disabled": "disabled",
    "#/hosts": "over capacity",
    f"#/tree/{HOST}": "Consumers",
    "#/consumers?class=CUSTOM_GPU": "CUSTOM_GPU 1",
    EXPLAINED: "What would fit",
    "#/shape?resources=VCPU:1": "more claims",
    "#/requests": "No candidates",
    "#/changes": "All changes since",
    "#/findings": "reserved in use",
    f"#/search/{LONG_NAME[:20]}": LONG_NAME,
}
# Names end with an ellipsis; fields scroll; a preview of a query ends with an ellipsis.
UNREADABLE = """() => {
    const ABBREVIATED = ".name, input, textarea, select, .refusals .query";
    const HIDDEN = ".visually-hidden, .skip, svg, datalist, option";
    const width = document.documentElement.clientWidth;
    const problems = [];
    const shown = [...document.querySelectorAll("body *")].filter(
        (each) => !each.closest(HIDDEN) && each.getClientRects().length > 0
    );
    for (const each of shown) {
        const { left, right } = each.getBoundingClientRect();
        const text = `${each.tagName} ${each.className}: ${each.textContent.slice(0, 60)}`;
        if (left < -0.5 || right > width + 0.5) problems.push(`outside: ${text}`);
        const isInline = getComputedStyle(each).display === "inline";
        if (!isInline && !each.matches(ABBREVIATED) && each.scrollWidth > each.clientWidth + 1) {
            problems.push(`cut off: ${text}`);
        }
        for (const node of each.childNodes) {
            if (node.nodeType !== Node.TEXT_NODE) continue;
            for (const { 0: word, index } of node.data.matchAll(/\\S+/g)) {
                const range = document.createRange();
                range.setStart(node, index);
                range.setEnd(node, index + word.length);
                const tops = [...range.getClientRects()].map(({ top }) => Math.round(top));
                if (new Set(tops).size > 1) problems.push(`broken: ${word} in ${text}`);
            }
        }
    }
    return problems;
}"""


def open_at(page, width):
    page.set_viewport_size({"width": width, "height": 844})
    page.locator(".status.live").wait_for(timeout=60_000)


def wait_until_readable(page):
    wait_until(
        lambda: page.evaluate(UNREADABLE) == [],
        message=lambda: "\n".join(page.evaluate(UNREADABLE)),
    )


@pytest.mark.parametrize("view", VIEWS)
def test_each_view_can_be_read_on_a_phone(realistic, open_page, view):
    page = open_page(f"{realistic.url}{PAGE}{view}")
    for width in (390, 360, 430):
        open_at(page, width)
        page.get_by_text(VIEWS[view]).first.wait_for(timeout=60_000)
        wait_until_readable(page)


def test_a_recorded_request_can_be_read_on_a_phone(realistic, open_page):
    page = open_page(f"{realistic.url}{PAGE}#/requests")
    open_at(page, 390)
    for kind in ("No candidates", "Refused claim"):
        page.get_by_role("link", name=kind).first.click()
        page.get_by_text("Global request id").wait_for(timeout=60_000)
        wait_until_readable(page)
        page.go_back()


def test_a_name_that_does_not_fit_is_one_line_with_its_whole_text_as_title(realistic, open_page):
    page = open_page(f"{realistic.url}{PAGE}#/tree/{HOST}")
    open_at(page, 390)
    name = page.locator("h1 .name")
    name.wait_for(timeout=60_000)
    assert name.get_attribute("title") == LONG_NAME
    assert name.evaluate("(each) => each.scrollWidth > each.clientWidth")
    assert name.evaluate("(each) => each.getBoundingClientRect().height < 50")


def test_the_amounts_of_a_finding_are_below_their_class(realistic, open_page):
    page = open_page(f"{realistic.url}{PAGE}#/findings?code=reserved_in_use")
    for width in (390, 360):
        open_at(page, width)
        row = page.locator("tbody tr", has_text="MEMORY_MB").first
        row.wait_for(timeout=60_000)
        place = (
            row.locator(".stacked").first.locator("> span").all_inner_texts().index("MEMORY_MB")
        )
        amounts = row.locator(f".stacked > span:nth-child({place + 1})").all()
        assert len(amounts) > 1
        assert len({amount.bounding_box()["x"] for amount in amounts}) == 1


def test_views_with_large_counts_are_in_one_line(realistic, open_page):
    findings = realistic.send("GET", "/insight/findings")
    error = findings["findings"][0] | {"severity": "error"}
    many = findings | {"findings": [error] * 789}
    page = open_page(f"{realistic.url}{PAGE}#/requests")
    page.route("**/insight/findings", lambda route: route.fulfill(json=many))
    page.reload()
    page.get_by_role("link", name="Findings 789").wait_for(timeout=60_000)
    for width in (390, 360):
        open_at(page, width)
        views = page.get_by_role("navigation").get_by_role("link")
        assert len({view.bounding_box()["y"] for view in views.all()}) == 1
