"""Remake explorer.png, the picture of the explorer page, from generated ego networks.

It needs Chromium with its driver and the Python package selenium::

    python docs/images/explorer.py
"""

import shutil
import tempfile
from pathlib import Path

from selenium import webdriver

from relaxwl import RelaxedWeisfeilerLehman
from relaxwl.datasets import make_egonets
from relaxwl.datasets.synthetic import EGONET_MODELS
from relaxwl.explanation import explain
from relaxwl.reports.explorer import write_explorer

WIDTH, HEIGHT = 1240, 960


def main() -> None:
    """Explain, write the page, and take its picture."""
    graphs, y = make_egonets(200, random_state=0)
    kernel = RelaxedWeisfeilerLehman(max_depth=2, n_partitions=2, n_clusters="sqrt", max_iter=None, random_state=0)
    explanation = explain(kernel, graphs, [EGONET_MODELS[code] for code in y])
    picture = Path(__file__).with_suffix(".png")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "explorer.html"
        write_explorer(explanation, page, title="Clusters of neighborhoods in ego networks")
        picture.write_bytes(photograph(f"{page.as_uri()}#cluster=1"))


def photograph(address: str) -> bytes:
    """Return what a browser shows at an address, as PNG."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    with webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))) as browser:
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get(address)
        return bytes(browser.get_screenshot_as_png())


if __name__ == "__main__":
    main()
