"""A real browser for the report: Chromium, driven by Playwright, and what the page asks for or complains of."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    Route,
    expect,
    sync_playwright,
)

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDE, NARROW = (1440, 900), (390, 844)
"""Viewports, in CSS pixels."""
PATIENCE = 60_000
"""How many milliseconds a page has to become what is expected, on a machine that has much else to do."""


def find_chromium() -> str | None:
    """The first Chromium or Chrome on PATH."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


@contextmanager
def launched() -> Iterator[Browser]:
    """A running browser; a skipped test where there is none. It ends with the block, as its event loop must."""
    program = find_chromium()
    if program is None:
        pytest.skip(f"no browser: the report's page needs {' or '.join(NAMES)} on PATH (make browser installs one)")
    # `make setup` does not keep Playwright's own Node where there is one: https://playwright.dev/python/docs/browsers
    if node := shutil.which("node"):
        os.environ["PLAYWRIGHT_NODEJS_PATH"] = node
    with sync_playwright() as playwright:
        expect.set_options(timeout=PATIENCE)
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield browser
        browser.close()


class Visit:
    """Opens report files, and keeps what they ask for beyond themselves and what they complain of.

    There is one page, because a new page takes several times as long as a new document.
    """

    def __init__(self, browser: Browser) -> None:
        """Nothing is open yet."""
        self._browser = browser
        self._page: Page | None = None
        self.requests: list[str] = []
        self.complaints: list[str] = []

    def open(self, file: Path, fragment: str = "", *, size: tuple[int, int] = WIDE) -> Page:
        """Open a file as a person does, from disk, in place of the one before. Nothing of that one remains."""
        page = self._page = self._page or self._new_page()
        page.goto("about:blank")  # another fragment of the same file would not load it again
        page.emulate_media(color_scheme="light", reduced_motion="null")
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.goto(f"{file.as_uri()}{fragment}")
        return page

    def _new_page(self) -> Page:
        context = self._browser.new_context()
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        context.route("**/*", self._keep_here)
        page.on("request", self._note)
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self._refuse)
        return page

    def _keep_here(self, route: Route) -> None:
        if route.request.url.startswith("file:"):
            route.continue_()
        else:
            route.abort()

    def _note(self, request: Request) -> None:
        self.requests.append(request.url.partition("#")[0])

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _refuse(self, dialog: Dialog) -> None:
        self.complaints.append(dialog.message)
        dialog.dismiss()

    def close(self) -> None:
        """Close the page."""
        if self._page:
            self._page.context.close()
