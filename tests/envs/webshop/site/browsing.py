"""A browser's part in the tests: read a page, fill in and send its forms, follow redirects."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from aiohttp import ClientResponse
from aiohttp.test_utils import TestClient

VOID = {"meta", "link", "input"}


class Html(HTMLParser):
    """A page taken apart: its tags with attributes, its visible texts, its forms."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.forms: list[dict[str, Any]] = []
        self._open: list[str] = []
        self.feed(source)
        self.close()
        assert self._open == [], "elements that are never closed"

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    @property
    def buttons(self) -> list[str]:
        return [button["text"] for form in self.forms for button in form["buttons"]]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        assert len(found) == len(attrs), f"attributes given twice: {attrs}"
        self.tags.append((tag, found))
        if tag not in VOID:
            self._open.append(tag)
        if tag == "form":
            self.forms.append({"action": found["action"], "fields": {}, "buttons": []})
        elif tag in ("input", "select") and self.forms:
            self.forms[-1]["fields"][found["name"]] = found.get("value") or ""
        elif tag == "option" and not self.forms[-1]["fields"]["split"]:
            self.forms[-1]["fields"]["split"] = found["value"]
        elif tag == "button":
            self.forms[-1]["buttons"].append({**found, "text": ""})

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if "button" in self._open:
            self.forms[-1]["buttons"][-1]["text"] = (self.forms[-1]["buttons"][-1]["text"] + data).strip()


class Browser:
    """One window: where it is, and what it shows."""

    def __init__(self, client: TestClient[Any, Any]) -> None:
        self._client = client
        self.page = Html("")
        self.status = 0
        self.address = ""

    async def go(self, address: str) -> Html:
        return await self._show(await self._client.get(address))

    async def start(self, **fields: str) -> Html:
        """Open a session."""
        await self.go("/")
        return await self.press("Start shopping", **fields)

    async def search(self, words: str) -> Html:
        form = next(form for form in self.page.forms if "search" in form["fields"])
        return await self.send(form["action"], {**form["fields"], "search": words})

    async def press(self, text: str, **fields: str) -> Html:
        """Press the first button with this text, other fields of its form filled in as given."""
        form, button = next((f, b) for f in self.page.forms for b in f["buttons"] if b["text"] == text)
        pressed = {button["name"]: button["value"]} if "name" in button else {}
        return await self.send(form["action"], {**form["fields"], **fields, **pressed})

    async def send(self, address: str, fields: dict[str, str]) -> Html:
        return await self._show(await self._client.post(address, data=fields))

    async def _show(self, response: ClientResponse) -> Html:
        assert response.content_type == "text/html"
        self.status, self.address = response.status, str(response.url.relative())
        self.page = Html(await response.text())
        return self.page
