"""Looking at a page: axe finds nothing grave, nothing scrolls sideways, and a picture is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

VENDOR = Path(__file__).parent / "vendor"
PICTURES = Path(__file__).parent / "pictures"
SIZES = {"wide": {"width": 1280, "height": 860}, "narrow": {"width": 360, "height": 780}}
GRAVE = {"serious", "critical"}


def press(page: Page, key: str) -> None:
    """Press a key once the page listens: what a page says is there before its scripts are."""
    page.wait_for_load_state()
    page.keyboard.press(key)


def look(page: Page, name: str, *, scheme: str, size: str) -> None:
    """Check a page that is open, and keep a picture of it."""
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / ".gitignore").write_text("*\n")
    page.screenshot(path=PICTURES / f"{name}-{size}-{scheme}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("window.innerWidth"), name
    if (size, scheme) == ("narrow", "dark"):
        # Its layout is looked at in light and its colours are looked at wide.
        return
    # Through the debugging protocol, which the page's content policy does not bind.
    page.evaluate((VENDOR / "axe.min.js").read_text())
    findings: list[dict[str, Any]] = page.evaluate("axe.run().then(found => found.violations)")
    grave = [
        f"{finding['id']}: {node['target']} {node['failureSummary']}"
        for finding in findings
        if finding["impact"] in GRAVE
        for node in finding["nodes"]
    ]
    assert grave == [], f"{name}: {grave}"
