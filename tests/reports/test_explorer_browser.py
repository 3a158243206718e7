"""The explorer page in a real browser: it loads, filters, opens, goes back, and says nothing in the console."""

import re
import shutil
import time

import pytest

from conftest import unavailable
from relaxed_kernels import optimized
from relaxwl.datasets import load_tu
from relaxwl.explanation import explain
from relaxwl.reports.explorer import write_explorer
from reports.explorer_pages import NASTY, data_of, egonets, nasty, page_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PATIENCE = 20.0  # seconds that a loaded machine may take to draw what a key or a click asked for


@pytest.fixture(scope="module")
def browser():
    try:
        from selenium import webdriver
    except ImportError:
        unavailable("selenium")
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None:
        unavailable("chromium with its driver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield browser
    browser.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name in ("egonets", "nasty"):
        (folder / f"{name}.html").write_text(page_of(name), encoding="utf-8")
    return folder


class Page:
    """The page in the browser, with what the tests do to it."""

    def __init__(self, browser, address):
        self.browser, self.address = browser, address

    def open(self, state="", width=1200, height=900, scheme="light"):
        self.browser.get("about:blank")
        self.browser.get_log("browser")
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
        )
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        self.browser.get(f"{self.address}{state}")
        self.until("document.documentElement.dataset.ready")

    def run(self, script, *arguments):
        return self.browser.execute_script(f"return {script}", *arguments)

    def until(self, script, value=None):
        """Wait until an expression is true, or equal to a value; one that reads what is not there yet is not true."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = self.run(f"(() => {{ try {{ return {script} }} catch (error) {{ return null }} }})()")
            if found == value if value is not None else found:
                return found
            time.sleep(0.03)
        raise AssertionError(f"{script} is {found!r} after {PATIENCE} s, not {value!r}")

    def one(self, selector):
        return self.browser.find_element("css selector", selector)

    def all(self, selector):
        return self.browser.find_elements("css selector", selector)

    def keys(self, *keys):
        from selenium.webdriver import ActionChains

        ActionChains(self.browser).send_keys(*keys).perform()

    def choose(self, name, value):
        self.run(
            "(() => { const e = document.querySelector(`[name='${arguments[0]}']`); e.value = arguments[1];"
            " e.dispatchEvent(new Event('change', { bubbles: true })); })()",
            name,
            value,
        )

    def until_count(self, number):
        self.until("document.querySelector('#count').textContent.match(/\\d+/)[0]", str(number))

    @property
    def heading(self):
        return self.run("document.querySelector('#detail h2')?.textContent")

    @property
    def count(self):
        return int(re.match(r"[\d,]+", self.one("#count").text).group().replace(",", ""))

    def complaints(self):
        return [entry["message"] for entry in self.browser.get_log("browser")]


@pytest.fixture
def page(browser, pages):
    page = Page(browser, (pages / "egonets.html").as_uri())
    yield page
    assert page.complaints() == []


def test_loads_with_everything_in_place(page):
    page.open()
    assert page.count == len(egonets().clusters)
    assert page.heading.startswith("Cluster 1")
    assert page.all("#detail figure svg")
    assert page.all("#detail .grid svg .hit")
    assert len(page.all(".row")) < 30
    assert page.run("document.querySelectorAll('.match').length") > 0


def test_filters_and_sorting(page):
    clusters = [cluster for cluster in egonets().clusters if cluster.depth == 2]
    page.open()
    page.choose("depth", "2")
    page.until_count(len(clusters))
    assert "depth=2" in page.run("location.hash")
    assert all("depth 2" in row.text for row in page.all(".row"))
    page.choose("class", "1")
    page.until_count(sum(cluster.typical_class == 1 for cluster in clusters))
    page.choose("class", "")
    page.until_count(len(clusters))
    page.choose("sort", "size")
    largest = max(clusters, key=lambda cluster: (cluster.size, -cluster.rank))
    page.until("document.querySelector('.row strong').textContent", f"Cluster {largest.rank}")
    page.one("input[name=better]").click()
    page.until_count(sum(cluster.better_than_chance for cluster in clusters))
    assert "better=1" in page.run("location.hash")


def test_click_and_back(page):
    page.open()
    page.all(".row")[2].click()
    page.until("document.querySelector('#detail h2').textContent.startsWith('Cluster 3')")
    page.all(".row")[4].click()
    page.until("document.querySelector('#detail h2').textContent.startsWith('Cluster 5')")
    page.one("[data-go=map]").click()
    page.until("!document.querySelector('#map').hidden")
    page.browser.back()
    page.until("document.querySelector('#map').hidden")
    assert page.heading.startswith("Cluster 5")
    page.browser.back()
    page.until("document.querySelector('#detail h2').textContent.startsWith('Cluster 3')")
    assert page.run("document.querySelectorAll('.row[aria-selected=true]').length") == 1


def test_address_restores_the_state(page):
    page.open("#cluster=7&depth=&sort=size&member=1")
    assert page.heading.startswith("Cluster 7")
    assert page.one("select[name=sort]").get_attribute("value") == "size"
    assert page.one("[data-member='1']").get_attribute("aria-pressed") == "true"
    page.open("#cluster=99999&view=nonsense&depth=x&map=-1")
    assert page.heading.startswith("Cluster 1")


def test_keyboard(page):
    from selenium.webdriver.common.keys import Keys

    page.open()
    page.run("document.querySelector('#list').focus()")
    page.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    page.until("document.querySelector('#detail h2').textContent.startsWith('Cluster 3')")
    active = page.one("#list").get_attribute("aria-activedescendant")
    assert page.one(f"#{active} strong").text == "Cluster 3"
    page.keys(Keys.END)
    page.until(f"location.hash.includes('cluster={len(egonets().clusters)}')")
    page.keys(Keys.HOME, Keys.ENTER)
    page.until("document.activeElement.tagName", "H2")
    page.keys(Keys.ESCAPE)
    page.until("document.activeElement.id", "list")
    assert page.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_map_can_be_walked_and_opens_clusters(page):
    from selenium.webdriver.common.keys import Keys

    page.open("#view=map")
    assert page.all("#map .dot")
    page.run("document.querySelector('#map .plot').focus()")
    page.keys(Keys.ARROW_RIGHT)
    page.until("document.querySelectorAll('.dot.current').length", 1)
    first = page.one("#map .panel h2").text
    on_the_left = page.run("document.querySelector('.dot.current').cx.baseVal.value < 600")
    page.keys(Keys.ARROW_RIGHT if on_the_left else Keys.ARROW_LEFT)
    page.until(f"document.querySelector('#map .panel h2').textContent !== '{first}'")
    chosen = page.one("#map .panel h2").text
    before = page.run("document.querySelector('#map svg').getAttribute('viewBox')")
    page.one("[aria-label='Zoom in']").click()
    page.until(f"document.querySelector('#map svg').getAttribute('viewBox') !== '{before}'")
    page.run("document.querySelector('#map .plot').focus()")
    page.keys(Keys.ENTER)
    page.until(f"document.querySelector('#detail h2').textContent.startsWith('{chosen}')")


def test_graphs_show_evidence_and_lit_nodes(page):
    page.open("#view=graphs&graph=1")
    assert page.all("#graphs .for, #graphs .against")
    page.all("#graphs table .tool")[0].click()
    page.until("document.querySelectorAll('#graphs .hit').length > 0")
    count = int(page.one("#graphs tbody tr td:nth-of-type(2)").text)
    assert len(page.all("#graphs .hit")) == count
    page.run("document.querySelector('#graphs .plot').focus()")
    page.keys("\ue014")
    page.until("document.querySelector('#graphs .panel + .panel h2')?.textContent.startsWith('Node')")


def test_class_of_a_cluster_is_the_one_with_the_longest_bar(page):
    for cluster in (cluster for cluster in egonets().clusters[:12] if cluster.better_than_chance):
        page.open(f"#cluster={cluster.rank}")
        widths = page.run("[...document.querySelectorAll('.meter i')].map((bar) => parseFloat(bar.style.width))")
        names = page.run("[...document.querySelectorAll('#detail tbody th')].map((name) => name.textContent)")
        assert page.heading.endswith(f"class {names[widths.index(max(widths))]}")
        heights = page.run(
            "[...document.querySelectorAll('.row[aria-selected=true] .bars i')].map((b) => b.style.height)"
        )
        assert heights[widths.index(max(widths))] == "100%"


def number(text):
    return float(text.replace("−", "-"))


def test_evidence_in_a_graph_adds_up_to_its_score(page):
    for graph in range(4):
        page.open(f"#view=graphs&graph={5 * graph}")
        listed = [number(cell.text) for cell in page.all("#graphs tbody td:nth-of-type(3)")]
        *parts, total = [number(cell.text) for cell in page.all("#graphs tfoot td:nth-of-type(1)")]
        assert "Sum" in page.all("#graphs tfoot th")[-1].text
        assert sum(listed) + sum(parts) == pytest.approx(total, abs=1e-6)


def test_evidence_and_classes_have_different_colors(page):
    page.open()
    classes = page.run("[...document.querySelectorAll('.chip')].map((e) => e.style.getPropertyValue('--class'))")
    style = "getComputedStyle(document.documentElement)"
    for scheme in ("light", "dark"):
        page.open(scheme=scheme)
        names = ("for", "against", "for-fill", "against-fill", "lit")
        evidence = {page.run(f"{style}.getPropertyValue('--{name}').trim()") for name in names}
        assert len(evidence) == len(names)
        assert not evidence & set(classes)


@pytest.mark.parametrize("width", [900, 1200])
def test_mapping_fits_into_its_box(page, width):
    for rank in range(1, 9):
        page.open(f"#cluster={rank}", width=width)
        box = "document.querySelector('[aria-label=Mapping]')"
        assert page.run(f"{box}.scrollWidth") <= page.run(f"{box}.clientWidth")
        assert page.run(f"{box}.nextSibling.hidden")
        drawing = f"{box}.firstChild"
        assert page.run(f"{drawing}.getBoundingClientRect().width / {drawing}.viewBox.baseVal.width") >= 0.64


def test_members_can_be_chosen(page):
    page.open("#cluster=1")
    words = page.one("#detail section p strong").text
    page.all("[data-member]")[-1].click()
    page.until("document.querySelector('[data-member][aria-pressed=true]').dataset.member !== '0'")
    assert page.one("#detail section p strong").text != words


def test_narrow_screen(page):
    page.open(width=360, height=740)
    assert page.run("document.documentElement.scrollWidth") <= 360
    assert not page.one("#detail").is_displayed()
    page.all(".row")[1].click()
    page.until("document.body.hasAttribute('data-open')")
    assert page.heading.startswith("Cluster 2")
    assert not page.one("#list").is_displayed()
    assert page.run("document.documentElement.scrollWidth") <= 360
    page.one(".back").click()
    page.until("!document.body.hasAttribute('data-open')")
    assert page.one("#list").is_displayed()
    for view in ("map", "graphs"):
        page.open(f"#view={view}", width=360, height=740)
        assert page.run("document.documentElement.scrollWidth") <= 360
    assert page.run("document.querySelector('#graphs table').getBoundingClientRect().right") <= 360


def test_dark_and_light(page):
    colors = {}
    for scheme in ("light", "dark"):
        page.open(scheme=scheme)
        colors[scheme] = page.run("getComputedStyle(document.body).backgroundColor")
    assert colors["light"] == "rgb(255, 255, 255)"
    assert max(int(part) for part in re.findall(r"\d+", colors["dark"])) < 40


def test_everything_that_can_be_used_has_a_name(page):
    for state in ("", "#view=map", "#view=graphs"):
        page.open(state)
        nameless = page.run(
            "[...document.querySelectorAll('button, select, input, svg[role=img], [role=listbox], [role=region]')]"
            ".filter((e) => e.offsetParent !== null || e.ownerSVGElement === null)"
            ".filter((e) => !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length)).length"
        )
        assert nameless == 0
        assert page.run("document.querySelectorAll('svg:not([aria-hidden]):not([role=img])').length") == 0


def test_labels_that_look_like_markup_are_text(browser, pages):
    page = Page(browser, (pages / "nasty.html").as_uri())
    page.open("#view=graphs&graph=1")
    shown = data_of(page_of("nasty"))
    graph = shown["graphs"][1]["id"]
    assert page.one("#graphs .panel h2").text == f"{shown['names'][str(graph)]} (graph {graph})"
    page.open("")
    page.open("#cluster=1")
    texts = page.run("[...document.querySelectorAll('svg text')].map((e) => e.textContent)")
    assert any(text.startswith(NASTY[0][:10]) for text in texts)
    assert page.run("document.querySelectorAll('script').length") == 2
    assert page.run("document.querySelectorAll('main img, main b').length") == 0
    options = "[...document.querySelector('select[name=label]').options]"
    page.choose("label", page.run(f"{options}.find((option) => option.text === arguments[0]).value", NASTY[1]))
    page.until_count(sum(any(t.label == NASTY[1] for t in c.center.distinct_subtrees()) for c in nasty().clusters))
    assert "label=" in page.run("location.hash")
    for view in ("map", "graphs"):
        page.open(f"#view={view}")
    assert page.complaints() == []


@pytest.mark.shared
def test_page_of_ego_1_opens_quickly(browser, shared, tmp_path):
    graphs, y = load_tu(shared / "data" / "EGO-1.zip")
    path = tmp_path / "ego.html"
    write_explorer(explain(optimized(random_state=0), graphs, y), path)
    assert path.stat().st_size < 5_000_000
    page = Page(browser, path.as_uri())
    page.open()
    assert page.count > 1000
    assert float(page.run("document.documentElement.dataset.ready")) < 2000
    # A thousand rows: scrolling to the end draws only what is in sight.
    page.run("(document.querySelector('#list').scrollTop = 1e9, 1)")
    page.until("[...document.querySelectorAll('.row')].some((row) => row.ariaPosInSet === row.ariaSetSize)")
    assert len(page.all(".row")) < 30
    assert page.complaints() == []
