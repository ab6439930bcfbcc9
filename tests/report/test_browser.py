"""The page in a real browser: it loads silently, fetches nothing, and every control does what it says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from samespace.report import html, models
from samespace.report.words import SAYINGS
from tests.report.browser import Browser, launch
from tests.report.factory import KINDS, comparison
from tests.report.test_html import HOSTILE
from tests.report.test_models import Joint

CASES = {
    **{kind: lambda kind=kind: comparison(kind) for kind in KINDS},
    "other widths": lambda: comparison("affine", d_y=20),
    "one dimension": lambda: comparison("affine", d_y=1),
    "fewer rows than dimensions": lambda: comparison("none", d=64, n=50),
    "no rows kept": lambda: comparison("orthogonal", keep=0),
}

# Contrast by WCAG 2: of every text with the nearest background that is painted behind it.
CONTRASTS = """
const channel = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const luminance = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
const numbers = text => text.match(/[\\d.]+/g).map(Number);
const behind = node => {
  for (; node; node = node.parentElement) {
    const c = numbers(getComputedStyle(node).backgroundColor);
    if (c.length === 3 || c[3] > 0) return c;
  }
  return [255, 255, 255];
};
const found = [];
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
  const node = walk.currentNode.parentElement;
  if (!walk.currentNode.data.trim() || !node.getClientRects().length) continue;
  if (node.closest("script, noscript")) continue;
  const style = getComputedStyle(node);
  const ink = luminance(numbers(node.closest("svg") ? style.fill : style.color));
  const paper = luminance(behind(node.closest("svg") ? node.closest("svg").parentElement : node));
  const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  if (ratio < 4.5) found.push(`${ratio.toFixed(2)}: ${walk.currentNode.data.trim()}`);
}
return found;
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    yield from launch(tmp_path_factory.mktemp("profile"))


@pytest.fixture
def page(browser, tmp_path) -> Browser:
    """The orthogonal pair's page on a desktop, motion unwelcome."""
    browser.look()
    browser.open(html.write(comparison("orthogonal"), tmp_path / "report.html"))
    return browser


def opened(browser: Browser, folder: Path, name: str) -> Browser:
    browser.open(html.write(CASES[name](), folder / "report.html"))
    return browser


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", CASES)
def test_every_case_loads_silently_and_fetches_nothing(browser, tmp_path, name, width):
    browser.look(width=width, dark=width == 390)
    opened(browser, tmp_path, name)
    browser.until("return document.readyState === 'complete'")
    assert browser.errors() == []
    assert {address.split(":")[0] for address in browser.requests()} <= {"file", "data"}
    assert browser.js("return performance.getEntriesByType('resource').map(e => e.name)") == []
    assert browser.text("h1") == SAYINGS[CASES[name]().verdict.name].headline
    assert browser.js("return document.documentElement.scrollWidth") <= width
    empty = "return [...document.querySelectorAll('.plot')].filter(p => !p.textContent).length"
    assert browser.js(empty) == 0


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ["orthogonal", "none", "undecided"])
def test_all_text_has_contrast(browser, tmp_path, name, dark):
    browser.look(dark=dark)
    opened(browser, tmp_path, name)
    assert browser.js(CONTRASTS) == []


def test_the_theme_follows_the_system_until_chosen(page):
    paper = "return getComputedStyle(document.body).backgroundColor"
    light = page.js(paper)
    page.look(dark=True)
    dark = page.js(paper)
    assert dark != light
    page.click("#theme")
    assert page.text("#theme") == "Theme: light"
    assert page.js(paper) == light
    page.look(dark=False)
    page.click("#theme")
    assert page.js(paper) == dark
    page.driver.refresh()
    assert page.text("#theme") == "Theme: dark"
    page.click("#theme")
    assert page.js(paper) == light


def test_before_and_after_move_the_points(page):
    rings = (
        "return [...document.querySelectorAll('.plot .old-point')]"
        ".map(ring => [ring.cx.baseVal.value, ring.cy.baseVal.value])"
    )
    dots = rings.replace("old-point", "new-point")
    before, new = page.js(rings), page.js(dots)
    assert len(before) == len(new) == 600
    page.click("[data-control=after]")
    after = page.js(rings)
    assert page.one("[data-control=after]").get_attribute("aria-pressed") == "true"
    assert "through the orthogonal map" in page.text("[data-chart=points] .readout")
    assert apart(after, new) < 3 < apart(before, after)
    page.js(
        "const s = document.querySelector('[data-control=map]'); s.value = 'identity';"
        "s.dispatchEvent(new Event('change'))"
    )
    assert apart(page.js(rings), new) > 30
    page.click("[data-control=before]")
    assert page.js(rings) == before


def apart(first: list, second: list) -> float:
    """Mean distance of partners, in pixels."""
    pairs = zip(first, second, strict=True)
    return sum(((a - c) ** 2 + (b - d) ** 2) ** 0.5 for (a, b), (c, d) in pairs) / len(first)


def test_the_points_move_smoothly_unless_motion_is_unwelcome(page):
    phase = "return Number(document.querySelector('[data-chart=points]').dataset.phase)"
    page.click("[data-control=after]")
    assert page.js(phase) == 1
    page.click("[data-control=before]")
    page.look(still=False)
    recorded = page.driver.execute_async_script(
        "const done = arguments[0], seen = [], figure = document.querySelector('[data-chart=points]');"
        "document.querySelector('[data-control=after]').click();"
        "const look = () => { seen.push(Number(figure.dataset.phase));"
        "  seen.at(-1) < 1 ? requestAnimationFrame(look) : done(seen); }; requestAnimationFrame(look);"
    )
    assert recorded == sorted(recorded)
    assert len({share for share in recorded if 0 < share < 1}) > 2


def test_lines_to_partners_are_shown_on_request(page):
    shown = "return document.querySelectorAll('.link[visibility=visible]').length"
    assert page.js(shown) == 0
    page.click("[data-control=links]")
    assert page.js(shown) == 600


@pytest.mark.parametrize(
    ("chart", "first", "last"),
    [
        ("spectrum", "canonical direction 1 of 12: held-out", "canonical direction 12 of 12"),
        ("dimensions", ", 1 of 12: held-out R²", ", 12 of 12: held-out R²"),
        ("points", "row ", "row "),
    ],
)
def test_charts_are_read_by_keyboard_and_by_pointer(page, chart, first, last):
    plot = page.one(f"[data-chart={chart}] .plot svg")
    readout = f"[data-chart={chart}] .readout"
    assert plot.get_attribute("role") == "slider"
    plot.send_keys(Keys.ARROW_RIGHT)
    assert first in page.text(readout)
    assert plot.get_attribute("aria-valuetext") == page.text(readout)
    plot.send_keys(Keys.END)
    assert last in page.text(readout)
    assert plot.get_attribute("aria-valuenow") == plot.get_attribute("aria-valuemax")
    plot.send_keys(Keys.HOME)
    said = page.text(readout)
    page.js(
        "const b = arguments[0].getBoundingClientRect(), rings = arguments[0].querySelectorAll('.old-point');"
        "const at = rings.length ? rings[7].getBoundingClientRect() : {x: b.x + b.width * 0.8, y: b.y + 40};"
        "arguments[0].dispatchEvent(new PointerEvent('pointermove', {clientX: at.x + 3, clientY: at.y + 3}))",
        plot,
    )
    assert page.text(readout) != said


def test_hover_names_the_dimension(page):
    result = comparison("orthogonal")
    best = int(result.r2.argmax())
    page.one("[data-chart=dimensions] .plot svg").send_keys(Keys.HOME)
    assert page.text("[data-chart=dimensions] .readout").startswith(f"dimension {best} of new")


@pytest.mark.parametrize("chart", ["spectrum", "dimensions"])
def test_every_curve_has_a_table_behind_it(page, chart):
    rows = f"return document.querySelectorAll('[data-chart={chart}] tbody tr').length"
    assert page.js(rows) == 0
    page.click(f"[data-chart={chart}] summary")
    page.until(f"{rows} === 12")


def test_a_map_of_the_lattice_says_why(page):
    result = comparison("orthogonal")
    for entry in result.classes:
        page.js(f"document.querySelector('.node[data-class={entry.name}]').focus()")
        assert page.text(".because") == entry.reason
    assert page.text(".node.chosen b") == "orthogonal"
    assert page.js("return document.querySelectorAll('.lattice .edge').length") == 5


def test_the_drawing_follows_the_width(page):
    width = "return document.querySelector('[data-chart=spectrum] .plot svg').viewBox.baseVal.width"
    wide = page.js(width)
    page.look(width=390)
    page.until(f"{width} < {wide}")


def test_hostile_names_stay_text(browser, tmp_path):
    browser.look()
    browser.open(html.write(replace(comparison("affine"), names=HOSTILE), tmp_path / "report.html"))
    assert browser.errors() == []
    assert browser.js("return document.querySelectorAll('main img').length") == 0
    assert HOSTILE[0] in browser.text(".pair")
    assert browser.driver.title == f"{HOSTILE[0]} -> {HOSTILE[1]}"


def test_what_slips_in_cannot_run(browser, tmp_path):
    text = html.page(comparison("affine"))
    planted = text.replace(
        "<main>",
        "<main><script>window.planted = 1</script><img src=x onerror='window.planted = 1'>",
    )
    path = tmp_path / "planted.html"
    path.write_text(planted, encoding="utf-8")
    browser.open(path)
    assert browser.js("return window.planted === undefined")
    assert any("Content Security Policy" in message for message in browser.errors())


def test_two_models_share_a_page(browser, tmp_path):
    browser.look(width=390)
    browser.open(models.write(Joint(), tmp_path / "joint.html"))
    assert browser.errors() == []
    assert browser.text("h1") == "Not the same model."
    assert browser.js("return document.querySelectorAll('.plot svg').length") == 8
    assert browser.js("return document.documentElement.scrollWidth") <= 390
