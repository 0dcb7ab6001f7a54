"""The Hosts page writes a host as a URL of the endpoint, over a real backend."""

import json
import socket
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hosts_kit import CODEX, CURSOR, open_host, open_page, put_files, state
from PySide6.QtWidgets import QApplication, QPushButton, QWidget

from app.core.settings import Settings
from app.gateway.backend.client import request
from app.gateway.backend.http_access import endpoint, http_state
from app.gateway.backend.rendezvous import STOP, Place
from app.system.endpoint import renew_secret

sys.path.insert(0, str(Path(__file__).parents[1] / "fakes"))

from web_client import WebClient, free_port

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no backend")
SECONDS = 30_000
CONSENT = "Switch on and write"


@pytest.fixture
def home(places):
    return put_files(places)


@pytest.fixture
def page(home, services, qtbot, ctx, monkeypatch):
    """The page; what listens is a real backend, ended with the test."""
    monkeypatch.setenv("TOOLCRIB_HOME", str(ctx.paths.home))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.delenv("TOOLCRIB_STANDALONE", raising=False)
    ctx.keep(http_port=free_port())
    page = open_page(services, qtbot)
    # its files may be looked at once more while it goes, which is before this fixture ends
    qtbot.addWidget(page, before_close_func=lambda _page: services.tasks.close())
    yield page
    place = Place(str(ctx.paths.home))
    request(place, STOP)
    qtbot.waitUntil(lambda: not Path(place.socket).exists(), timeout=SECONDS)


def choose(page, qtbot, host="cursor"):
    """Through mode over HTTP, planned."""
    open_host(page, qtbot, host, "through")
    page.detail.http.box.click()
    qtbot.waitUntil(
        lambda: page.services.tasks.idle and page.preview.plan.over_http, timeout=SECONDS
    )


def button(page, text):
    return next(
        b for b in page.messages.findChildren(QPushButton) if b.text() == text and b.isVisible()
    )


def write(page, qtbot):
    """The button, the consent, the file."""
    page.primary()
    button(page, CONSENT).click()
    qtbot.waitUntil(lambda: page.messages.text.startswith("Written"), timeout=SECONDS)
    qtbot.waitUntil(lambda: page.services.tasks.idle, timeout=SECONDS)


def entry_of(home):
    return json.loads((home / CURSOR).read_text())["mcpServers"]["toolcrib"]


def test_the_choice_is_shown_where_a_url_can_be_written(page, qtbot):
    for host, mode, shown in (
        ("cursor", "through", True),
        ("cursor", "pruned", False),
        ("codex", "through", True),
        ("claude-desktop", "through", False),
        ("cursor", "as-is", False),
    ):
        open_host(page, qtbot, host, mode)
        assert page.detail.http.isVisible() is shown, (host, mode)
        assert not page.detail.http.on and not page.preview.plan.over_http


def test_what_a_url_means_is_read_before_it_is_written_and_the_token_is_masked(page, qtbot, ctx):
    choose(page, qtbot)
    text = page.detail.notes.text()
    assert "is off, so Cursor would reach nothing." in text
    assert "Cursor cannot start Toolcrib over HTTP: after a login" in text
    assert "opens the profile default to all who read it." in text
    after = page.detail.diff.after.toPlainText()
    assert f"127.0.0.1:{ctx.settings.http_port}/mcp/default" in after and "••••" in after
    page.detail.copy.click()
    token = endpoint(ctx).address("default").token
    assert token not in QApplication.clipboard().text()
    for widget in page.findChildren(QWidget):
        for name in ("text", "toPlainText", "toolTip", "accessibleName"):
            told = getattr(widget, name, "")
            assert token not in str(told() if callable(told) else told)


def test_nothing_is_switched_on_before_it_is_agreed_to(page, qtbot, home, ctx):
    before = (home / CURSOR).read_bytes()
    choose(page, qtbot)
    page.primary()
    assert page.messages.text == (
        "The HTTP endpoint is off. Writing switches it on: Toolcrib listens on "
        f"127.0.0.1:{ctx.settings.http_port} then."
    )
    assert not Settings.load(ctx.paths.settings_file).http
    assert (home / CURSOR).read_bytes() == before
    assert not Path(Place(str(ctx.paths.home)).socket).exists()


def test_what_was_agreed_to_is_written_answers_and_is_taken_back(page, qtbot, home, ctx):
    before = (home / CURSOR).read_bytes()
    choose(page, qtbot)
    write(page, qtbot)
    entry = entry_of(home)
    url, token = urlsplit(entry["url"]), entry["headers"]["Authorization"].split()[1]
    web = WebClient(url.port, token, url.path)
    assert web.initialize().last["result"]["serverInfo"]["name"] == "toolcrib"
    qtbot.waitUntil(
        lambda: state(page, "cursor") == "Through Toolcrib over HTTP · in sync", timeout=SECONDS
    )
    open_host(page, qtbot, "codex", "as-is")
    page.choose("cursor")
    assert page.detail.http.on and page.detail.mode == "through"
    page.services.undo.undo()
    qtbot.waitUntil(lambda: (home / CURSOR).read_bytes() == before, timeout=SECONDS)
    qtbot.waitUntil(lambda: page.services.tasks.idle, timeout=SECONDS)
    page.services.undo.redo()  # shows what writing would change, again as a URL
    qtbot.waitUntil(
        lambda: page.services.tasks.idle and bool(page.preview.plan.over_http), timeout=SECONDS
    )
    assert (home / CURSOR).read_bytes() == before


def test_a_renewed_token_and_an_endpoint_that_is_off_are_shown(page, qtbot, home, ctx):
    choose(page, qtbot)
    write(page, qtbot)
    old = entry_of(home)
    renew_secret(ctx.paths)
    page.desk.survey()
    qtbot.waitUntil(lambda: "1 change to export" in state(page, "cursor"), timeout=SECONDS)
    page.refresh()
    qtbot.waitUntil(lambda: bool(page.preview.files), timeout=SECONDS)
    assert "The token in the file is no longer the profile's: write again." in (
        page.detail.notes.text()
    )
    page.primary()  # the endpoint is on: no question
    qtbot.waitUntil(lambda: page.messages.text.startswith("Written"), timeout=SECONDS)
    qtbot.waitUntil(lambda: page.services.tasks.idle, timeout=SECONDS)
    assert entry_of(home)["url"] == old["url"] and entry_of(home) != old
    ctx.keep(http=False)
    page.desk.survey()
    qtbot.waitUntil(lambda: state(page, "cursor") == "HTTP endpoint off", timeout=SECONDS)
    assert page.messages.text == "The HTTP endpoint is off, so Cursor reaches nothing."
    button(page, "Switch it on").click()
    qtbot.waitUntil(lambda: state(page, "cursor").endswith("in sync"), timeout=SECONDS)
    assert http_state(ctx).answers


def test_a_port_that_is_taken_leaves_file_and_endpoint_as_they_were(page, qtbot, home, ctx):
    before = (home / CURSOR).read_bytes()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", ctx.settings.http_port))
        taken.listen()
        choose(page, qtbot)
        page.primary()
        button(page, CONSENT).click()
        qtbot.waitUntil(lambda: page.messages.text.startswith("Not written:"), timeout=SECONDS)
    assert "cannot be used" in page.messages.text
    assert (home / CURSOR).read_bytes() == before
    assert not Settings.load(ctx.paths.settings_file).http


def test_a_write_that_is_refused_leaves_the_endpoint_off(page, qtbot, home, ctx):
    choose(page, qtbot)
    page.watch.follow([])
    (home / CURSOR).write_text('{"mcpServers": {}}')
    page.primary()
    button(page, CONSENT).click()
    qtbot.waitUntil(lambda: page.messages.text.startswith("Not written:"), timeout=SECONDS)
    assert (home / CURSOR).read_text() == '{"mcpServers": {}}'
    assert not Settings.load(ctx.paths.settings_file).http


def test_another_mode_takes_the_url_out_again(page, qtbot, home):
    before = (home / CODEX).read_bytes()
    choose(page, qtbot, "codex")
    write(page, qtbot)
    assert b"127.0.0.1" in (home / CODEX).read_bytes()
    for mode in ("native", "as-is"):
        open_host(page, qtbot, "codex", mode)
        page.primary()
        qtbot.waitUntil(lambda: page.messages.text.startswith("Written"), timeout=SECONDS)
        qtbot.waitUntil(lambda: page.services.tasks.idle, timeout=SECONDS)
        assert b"127.0.0.1" not in (home / CODEX).read_bytes()
    assert (home / CODEX).read_bytes() == before


def test_the_login_is_offered_until_it_starts_the_backend(page, qtbot, ctx):
    choose(page, qtbot)
    row = page.detail.http
    assert row.login.isVisible()
    row.login.click()
    assert page.services.open_settings.__self__.opened == ["settings login"]
    ctx.keep(at_login=True)
    page.desk.survey()
    qtbot.waitUntil(lambda: not row.login.isVisible(), timeout=SECONDS)
