"""A headless Chromium for the page's tests: no network of its own, phone or desktop, light or dark."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


class Browser:
    """What the tests ask of a page that is open."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def look(self, *, width: int = 1280, dark: bool = False, still: bool = True) -> None:
        """Sets the screen's width, the system's theme, and whether motion is unwelcome."""
        features = {
            "prefers-color-scheme": "dark" if dark else "light",
            "prefers-reduced-motion": "reduce" if still else "no-preference",
        }
        self._devtools(
            "Emulation.setEmulatedMedia",
            features=[{"name": name, "value": value} for name, value in features.items()],
        )
        self._devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def open(self, path: Path) -> None:
        """Opens a page from disk; what was logged before is forgotten."""
        self.errors()
        self.requests()
        self.driver.get(path.as_uri())

    def errors(self) -> list[str]:
        """Console messages of warning level and above since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Addresses asked for, by whatever means, since the last call."""
        events = (
            json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")
        )
        return [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def js(self, script: str, *arguments: Any) -> Any:
        """The value of a script."""
        return self.driver.execute_script(script, *arguments)

    def until(self, script: str) -> None:
        """Waits until a script is true."""
        WebDriverWait(self.driver, 10, poll_frequency=0.05).until(lambda _: self.js(script))

    def one(self, selector: str) -> Any:
        """The first element that matches."""
        return self.driver.find_element("css selector", selector)

    def text(self, selector: str) -> str:
        """The visible text of the first element that matches."""
        return self.one(selector).text

    def click(self, selector: str) -> None:
        """Clicks where the element is, as a reader would."""
        element = self.one(selector)
        self.js("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
        element.click()

    def _devtools(self, command: str, **parameters: Any) -> None:
        self.driver.execute_cdp_cmd(command, parameters)


def launch(profile: Path) -> Iterator[Browser]:
    """Starts Chromium with an empty profile; skips where it is absent, unless it must be there."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        reason = "needs chromium and chromedriver (Debian: chromium, chromium-driver)"
        if os.environ.get("SAMESPACE_REQUIRE_BROWSER") == "1":
            pytest.fail(f"SAMESPACE_REQUIRE_BROWSER=1, but the test {reason}")
        pytest.skip(reason)
    options = Options()
    options.binary_location = chromium
    for argument in (*ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield Browser(chrome)
    finally:
        chrome.quit()
