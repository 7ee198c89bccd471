"""The shop in a real browser: Debian's chromium, driven without a screen."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest
from aiohttp.test_utils import TestServer

from envs.webshop.catalog.catalog import Catalog
from envs.webshop.site import make_app

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Page

playwright = pytest.importorskip("playwright.async_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the path")

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)


@pytest.fixture
async def chromium() -> AsyncIterator[Browser]:
    async with (
        playwright.async_playwright() as started,
        await started.chromium.launch(executable_path=CHROMIUM, args=FLAGS) as browser,
    ):
        yield browser


@pytest.fixture
async def address(catalog: Catalog) -> AsyncIterator[str]:
    async with TestServer(make_app(catalog)) as server:
        yield str(server.make_url("/"))


async def test_buying_by_keyboard_alone_without_scripts(chromium: Browser, address: str) -> None:
    async with await chromium.new_context(java_script_enabled=False) as context:
        page = await start(context, address, goal=0)
        await page.keyboard.type("acme shoes")  # the search bar has the focus
        await enter(page)
        assert "2 results" in await page.locator("h1").inner_text()
        for button in ("Acme Red Running Shoes", "9 [wide]", 'the "dark" one', "Features", "< Prev", "Buy Now"):
            await tab_to(page, button)
            await enter(page)
        assert await page.locator("h1").inner_text() == "Thank you for shopping with us!"
        assert 'chosen: size: 9 [wide], color: the "dark" one' in await page.locator("table").inner_text()
        await page.reload()
        assert await page.locator("h1").inner_text() == "Thank you for shopping with us!"


async def test_two_people_at_once(chromium: Browser, address: str) -> None:
    async def buy(goal: int, words: str, title: str) -> str:
        async with await chromium.new_context() as context:
            page = await start(context, address, goal)
            await page.get_by_role("searchbox").fill(words)
            await page.get_by_role("button", name="Search", exact=True).click()
            await page.get_by_role("button", name=title).click()
            await page.get_by_role("button", name="Buy Now").click()
            await page.get_by_role("heading", name="Thank you").wait_for()
            return str(await page.locator(".bought").inner_text())

    bought = await asyncio.gather(buy(0, "lamp", "Garden Lamp"), buy(5, "shoes", "Acme Blue Shoes"))
    assert "Garden Lamp" in bought[0]
    assert "Acme Blue Shoes" in bought[1]


async def test_the_back_button(chromium: Browser, address: str) -> None:
    async with await chromium.new_context() as context:
        page = await start(context, address, goal=0)
        await page.get_by_role("searchbox").fill("shoes")
        await page.keyboard.press("Enter")
        await page.get_by_role("button", name="Acme Blue Shoes").click()
        await page.get_by_role("button", name="Buy Now").wait_for()
        await page.go_back()
        assert "The shop has moved on" in await page.get_by_role("status").inner_text()
        await page.get_by_role("button", name="Buy Now").click()
        await page.get_by_role("heading", name="Thank you").wait_for()


async def test_nothing_is_fetched_from_elsewhere_and_nothing_overflows(chromium: Browser, address: str) -> None:
    asked, complaints = list[str](), list[str]()
    async with await chromium.new_context(viewport={"width": 320, "height": 640}) as context:
        context.on("request", lambda request: asked.append(request.url))
        context.on("console", lambda message: complaints.append(message.text))
        page = await start(context, address, goal=0)
        await narrow(page)
        await page.get_by_role("searchbox").fill("running " + "x" * 300)
        await enter(page)
        await narrow(page)
        for button in ("Acme Red", "9 [wide]", "Description", "< Prev", "Buy Now"):
            async with page.expect_navigation():
                await page.get_by_role("button", name=button).click()
            await narrow(page)
        await page.goto(f"{address}nowhere")
        await narrow(page)
    assert all(url.startswith(address) for url in asked), asked
    assert complaints == ["Failed to load resource: the server responded with a status of 404 (Not Found)"]


async def start(context: BrowserContext, address: str, goal: int) -> Page:
    context.set_default_timeout(10_000)
    page = await context.new_page()
    await page.goto(address)
    await page.get_by_label("Goals").select_option("all")
    await page.get_by_label("Number").fill(str(goal))
    await page.get_by_role("button", name="Start shopping").click()
    await page.get_by_role("searchbox").wait_for()
    return page


async def enter(page: Page) -> None:
    async with page.expect_navigation():
        await page.keyboard.press("Enter")


async def tab_to(page: Page, button: str) -> None:
    """Press the tabulator until the button has the focus."""
    wanted = page.get_by_role("button", name=button, exact=True).first
    for _ in range(30):
        await page.keyboard.press("Tab")
        if await wanted.evaluate("button => button === document.activeElement"):
            return
    pytest.fail(f"the tabulator does not lead to {button!r}")


async def narrow(page: Page) -> None:
    """Nothing is wider than the window."""
    assert await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
