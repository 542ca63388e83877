"""Take the pictures of docs/read-the-report.md from report pages, with Chromium and its driver.

``python tools/make_report_pictures.py demo.html bishops.html workflow.html``: pages that ``posetta
report`` wrote for the demo data, for data with groups, and for a workflow of some hundred tasks.
"""

from __future__ import annotations

import base64
import io
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
SHOTS = {
    # picture: (page, width, height, scheme, what to scroll to, what to click)
    "report-demo": (0, 1280, 800, "light", "#order", ".edge[data-first='1']"),
    "report-bishops": (1, 1280, 800, "light", "#order", ".node[data-item='20']"),
    "report-workflow": (2, 1280, 940, "light", "#order", "[aria-label='Show everything']"),
    "report-phone": (0, 390, 844, "dark", ".viewport", ".node[data-item='4']"),
}


def main(pages: list[str]) -> None:
    """Take all pictures."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("--headless=new", "--no-sandbox", f"--user-data-dir={tempfile.mkdtemp()}"):
        options.add_argument(flag)
    browser = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    try:
        for name, (page, *shot) in SHOTS.items():
            picture(browser, Path(pages[page]).resolve().as_uri(), *shot).save(
                PICTURES / f"{name}.png", optimize=True
            )
    finally:
        browser.quit()


def picture(
    browser: Any, page: str, width: int, height: int, scheme: str, place: str, choice: str
) -> Image.Image:
    """Open a page, choose something, and return what is seen."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    browser.get(page)
    browser.execute_async_script(
        "const [place, choice, done] = arguments;"
        "document.querySelector(choice).dispatchEvent(new MouseEvent('click', {bubbles: true}));"
        "document.querySelector(place).scrollIntoView({behavior: 'instant'});"
        "requestAnimationFrame(() => requestAnimationFrame(done))",
        place,
        choice,
    )
    taken = browser.execute_cdp_cmd("Page.captureScreenshot", {})["data"]
    return Image.open(io.BytesIO(base64.b64decode(taken))).convert("RGB")


if __name__ == "__main__":
    main(sys.argv[1:])
