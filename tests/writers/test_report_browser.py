"""The report as a person meets it: in a real browser, which skips, and says why, where there is none."""

import re
from itertools import pairwise

import pytest

from dynid.chain import load_robot
from dynid.excitation import MotionLimits, random_fourier
from dynid.writers import Report, trajectory_report
from tests.browser import browser, chromium
from tests.writers.reports import HOSTILE, case

pytestmark = pytest.mark.skipif(
    chromium() is None, reason="no Chromium here: install the system's package chromium to test reports in a browser"
)

CHARTS = "Array.from(document.querySelectorAll('.chart'))"
LOW_CONTRAST = """
(function () {
  function parsed(text) { var n = text.match(/[\\d.]+/g).map(Number); return n.length > 3 ? n : n.concat(1); }
  function light(c) {
    var l = c.slice(0, 3).map(function (v) {
      return v <= 10 ? v / 255 / 12.92 : Math.pow((v / 255 + 0.055) / 1.055, 2.4);
    });
    return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2];
  }
  function ground(e) {
    for (; e; e = e.parentElement) { var c = parsed(getComputedStyle(e).backgroundColor); if (c[3] > 0) { return c; } }
    return [255, 255, 255, 1];
  }
  var found = [];
  document.querySelectorAll('body *').forEach(function (e) {
    var own = Array.from(e.childNodes).some(function (n) { return n.nodeType === 3 && n.textContent.trim(); });
    var svg = e.closest('svg');
    if (!own || !e.getClientRects().length || /^(SCRIPT|STYLE)$/.test(e.tagName)) { return; }
    if (svg && e.tagName !== 'text' && e.tagName !== 'tspan' || e.closest('.barlayer')) { return; }
    var style = getComputedStyle(e), text = parsed(svg ? style.fill : style.color);
    var a = light(text), b = light(svg ? ground(svg.parentElement) : ground(e));
    var ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) { found.push(e.tagName + ' ' + e.textContent.slice(0, 30) + ' ' + ratio.toFixed(2)); }
  });
  return found;
})()
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    written = tmp_path_factory.mktemp("report") / "report.html"
    case().report().write(written)
    return written


@pytest.fixture(scope="module")
def page(path, tmp_path_factory):
    """A tab with the report of an arm whose joints have hostile names, on a wide light screen without WebGL."""
    with browser(tmp_path_factory.mktemp("browser"), webgl=False) as tab:
        tab.size(1600)
        tab.prefer("light")
        tab.open(path)
        yield tab


@pytest.fixture(autouse=True)
def quiet(request):
    """Whatever a test does with the page: no error in the console, and no request but for the file itself."""
    yield
    if "page" in request.fixturenames:
        tab = request.getfixturevalue("page")
        assert tab.complaints == []
        own = request.getfixturevalue("path").resolve().as_uri()
        assert [url for url in tab.requests if url != own and not url.startswith(("data:", "blob:"))] == []


def test_every_chart_is_drawn(page):
    states = page.run(f"{CHARTS}.map(function (c) {{ return c.dataset.state; }})")
    assert len(states) == sum(len(section.figures) for section in case().report().sections)
    assert set(states) == {"drawn"}
    empty = page.run(
        f"{CHARTS}.filter(function (c) {{ return !c.querySelector('canvas, .trace, .hm image, .points path'); }})"
        ".map(function (c) { return c.dataset.key; })"
    )
    assert empty == []
    assert page.run(f"{CHARTS}.filter(function (c) {{ return c.dataset.flat === 'yes'; }}).length") == 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1600])
def test_the_page_fits_and_reads_on_telephone_and_wide_screen_light_and_dark(page, width, scheme):
    page.size(width)
    page.prefer(scheme)
    page.wait(f"document.documentElement.dataset.theme === '{scheme}'")
    page.wait(f"{CHARTS}.every(function (c) {{ return c._fullLayout.width <= {width}; }})")
    assert page.run("document.documentElement.scrollWidth") <= width
    outside = page.run(
        f"{CHARTS}.map(function (c) {{ return c.querySelector('.main-svg').getBoundingClientRect().right; }})"
        f".filter(function (right) {{ return right > {width}; }}).length"
    )
    assert outside == 0
    if width == 1600:
        joints = "document.evaluate(\"//caption[.='What each joint did']\", document, null, 9).singleNodeValue"
        assert page.run(f"(e => e.scrollWidth - e.clientWidth)({joints}.closest('.scroll'))") <= 1
    assert page.run(LOW_CONTRAST) == []


def test_hostile_names_are_shown_letter_by_letter(page):
    assert page.run("document.querySelectorAll('img, main b, main i').length") == 0
    headings = page.run("Array.from(document.querySelectorAll('h3')).map(function (h) { return h.textContent; })")
    assert set(HOSTILE) <= set(headings)
    ticks = page.run(
        "Array.from(document.querySelectorAll('.ytick text')).map(function (e) { return e.textContent; }).join('\\n')"
    )
    for name in HOSTILE:
        assert name in ticks


def test_markup_that_found_its_way_into_the_page_would_not_run(page):
    page.run(
        "document.body.insertAdjacentHTML('beforeend', '<p id=evil><img src=data:, onerror=\"window.ran = 1\">"
        "<a href=\"javascript:window.ran = 2\">x</a></p>'); document.querySelector('#evil a').click();"
        "var added = document.createElement('script'); added.textContent = 'window.ran = 3';"
        "document.getElementById('evil').append(added);"
    )
    page.wait("document.querySelector('#evil img').complete")
    assert page.run("window.ran === undefined")
    page.run("document.getElementById('evil').remove()")
    refused = [text for text in page.complaints if "Content Security Policy" in text]
    assert len(refused) == 3
    assert page.complaints == refused
    page.complaints.clear()


def test_dragging_zooms_and_the_other_joints_follow_until_a_double_click(page):
    page.size(1600)
    page.run("document.querySelector('.chart').scrollIntoView({block: 'center', behavior: 'instant'})")
    box = page.run(
        "(function () { var r = document.querySelector('.chart .nsewdrag').getBoundingClientRect();"
        "return [r.left, r.top, r.width, r.height]; })()"
    )
    span = "(function (c) { return c._fullLayout.xaxis.range[1] - c._fullLayout.xaxis.range[0]; })"
    whole = page.run(f"{span}(document.querySelector('.chart'))")
    height = box[1] + 0.5 * box[3]
    page.drag((box[0] + 0.3 * box[2], height), (box[0] + 0.6 * box[2], height))
    linked = f"{CHARTS}.filter(function (c) {{ return c.dataset.link === 'fit'; }})"
    page.wait(f"{linked}.every(function (c) {{ return {span}(c) < 0.4 * {whole}; }})")
    assert page.run(f"{linked}.length") == 6
    page.run("Plotly.relayout(document.querySelector('.chart'), {'xaxis.autorange': true}).then(function () {})")
    page.wait(f"{linked}.every(function (c) {{ return {span}(c) > 0.9 * {whole}; }})")


def test_the_button_changes_the_colours_of_page_and_charts(page):
    page.prefer("light")
    page.wait("document.documentElement.dataset.theme === 'light'")
    ink = "document.querySelector('.chart')._fullLayout.font.color"
    before = page.run(f"[getComputedStyle(document.body).backgroundColor, {ink}]")
    for _ in range(2):  # auto, light, dark
        page.run("document.getElementById('theme').click()")
    after = page.run(f"[getComputedStyle(document.body).backgroundColor, {ink}]")
    page.run("document.getElementById('theme').click()")
    assert before[0] == "rgb(255, 255, 255)" != after[0]
    assert before[1] != after[1]
    assert page.run(f"[getComputedStyle(document.body).backgroundColor, {ink}]") == before


def test_tables_are_sorted_by_a_click_and_filtered_by_words_and_badges(page):
    table = "document.querySelector('.chip').closest('.table')"
    values = f"Array.from({table}.querySelectorAll('tbody tr')).map(function (r) {{ return +r.cells[2].textContent; }})"
    for order in (sorted, lambda numbers: sorted(numbers, reverse=True)):
        page.run(f"{table}.querySelectorAll('thead button')[2].click()")
        numbers = page.run(values)
        assert numbers == order(numbers)
    shown = f"Array.from({table}.querySelectorAll('tbody tr')).filter(function (r) {{ return !r.hidden; }}).length"
    total = page.run(shown)
    chip = f"{table}.querySelector('.chip[data-word=identified]')"
    page.run(f"{chip}.click()")
    identified = page.run(f"{table}.querySelectorAll('td[data-word=identified]').length")
    assert 0 < page.run(shown) == identified < total
    page.run(f"{chip}.click()")
    search = f"var box = {table}.querySelector('input'); box.value = 'WORD'; box.dispatchEvent(new Event('input'));"
    page.run(search.replace("WORD", "fv1"))
    assert page.run(shown) == 1
    page.run(search.replace("WORD", ""))
    assert page.run(shown) == total


def test_it_prints_on_paper_in_light_colours_and_returns_to_the_screen(page):
    page.prefer("dark")
    page.run(
        "window.addEventListener('beforeprint', function () {"
        f"window.printed = {CHARTS}.map(function (c) {{"
        "return [c._fullLayout.width, c._fullLayout.font.color, c.dataset.flat]; });"
        "}, { once: true })"
    )
    document = page.pdf()
    assert document.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", document)) >= 4
    printed = page.run("window.printed")
    assert {colour for _, colour, _ in printed} == {"#1c2733"}
    assert max(width for width, _, _ in printed) <= 690  # an A4 page between margins of 12 mm has 703 pixels
    page.wait("document.documentElement.dataset.theme === 'dark'")
    page.wait(f"{CHARTS}.some(function (c) {{ return c._fullLayout.width > 690; }})")
    page.prefer("light")


def test_headings_are_in_order_and_every_chart_has_words(page):
    levels = page.run("Array.from(document.querySelectorAll('h1, h2, h3')).map(function (h) { return +h.tagName[1]; })")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))
    assert page.run(f"{CHARTS}.filter(function (c) {{ return !c.getAttribute('aria-label'); }}).length") == 0
    assert page.run("document.querySelectorAll('nav a').length") == len(case().report().sections) + 1


def test_links_stand_in_space_where_the_browser_can_and_are_flat_on_paper(tmp_path):
    written = tmp_path / "links.html"
    links = next(section for section in case().report().sections if section.title == "Links")
    Report("links", "", (links,)).write(written)
    with browser(tmp_path) as tab:
        tab.open(written)
        assert tab.run("document.querySelectorAll('.gl-container canvas').length") == 1
        flat = "document.querySelector('.chart').dataset.flat"
        assert tab.run(flat) == "no"
        tab.run(f"window.addEventListener('beforeprint', function () {{ window.printed = {flat}; }})")
        tab.pdf()
        assert tab.run("window.printed") == "yes"  # a canvas of WebGL may print empty
        tab.wait(f"{flat} === 'no'")
        assert tab.complaints == []


def test_the_page_of_a_trajectory_opens_without_complaint(page, tmp_path):
    robot = load_robot("planar2r")
    limits = MotionLimits.of(robot)
    motion = random_fourier(robot, seed=1).trajectory
    written = tmp_path / "trajectory.html"
    trajectory_report(motion, robot, limits, history=((0.1, 90.0), (0.4, 40.0))).write(written)
    page.open(written)
    assert page.run("document.documentElement.scrollWidth") <= 1600
    assert page.complaints == []
    page.requests.remove(written.resolve().as_uri())
