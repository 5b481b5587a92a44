"""Take the pictures of the README from a running Loci that holds the demonstration.

`python -m tests.browser.demo_pictures http://127.0.0.1:8420 demo PASSWORD`, with the login that `manage.py demo` made.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from playwright.sync_api import ViewportSize, sync_playwright

from memory.management.chromium import chromium

PICTURES: Final = Path(__file__).resolve().parents[2] / "docs" / "pictures"
ARGUMENTS: Final = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--hide-scrollbars"]
SIZE: Final = ViewportSize(width=1280, height=800)
MOST_BYTES: Final = 150_000
PATIENCE_MS: Final = 180_000
PAGES: Final = {
    "recall": "/?q=When+are+we+closed%3F",
    "graph": "/graph/?depth=2&colour=community&q=bakery",
    "review": "/review/",
}


def main(address: str, username: str, password: str) -> None:
    """Log in, open each page and keep what is seen of it.

    Raises:
        ValueError: a picture is too large for a README.
    """
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        page = browser.new_page(base_url=address, viewport=SIZE, color_scheme="light", reduced_motion="reduce")
        page.set_default_timeout(PATIENCE_MS)
        page.goto("/login/")
        page.get_by_label("Name").fill(username)
        page.get_by_label("Password").fill(password)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url("**/")
        for name, path in PAGES.items():
            page.goto(path)
            if name == "graph":
                page.locator("[data-graph-stage][data-graph-ready]").wait_for()
                page.locator(".graph-picture").scroll_into_view_if_needed()
            taken = page.screenshot(path=PICTURES / f"{name}.jpg", scale="css", type="jpeg", quality=75)
            if len(taken) > MOST_BYTES:
                raise ValueError(f"The picture {name} has {len(taken):,} bytes.")
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
