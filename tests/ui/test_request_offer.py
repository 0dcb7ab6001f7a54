"""The window says which tools have no requests and has them written by a model of the user's."""

import json
import os
from pathlib import Path

import claude_program
import psutil
import pytest
import raw_host
from PySide6.QtWidgets import QLabel, QPushButton

from app.core.settings import Settings
from app.gateway.backend.client import request
from app.gateway.backend.rendezvous import STATUS, STOP, Place
from store import requests, tools
from tests.ui.test_reading import entry
from ui.pages.catalog.request_offer import RequestOffer

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(os.name == "nt", reason="the program is a script")


@pytest.fixture
def log(tmp_path, monkeypatch):
    """A machine with `claude`; the file of what it was asked."""
    file = tmp_path / "claude.log"
    for name, value in claude_program.install(tmp_path / "bin", file).items():
        monkeypatch.setenv(name, value)
    return file


def settled(window, qtbot):
    qtbot.waitUntil(lambda: window.tasks.idle, timeout=60_000)


def sources(ctx):
    db = ctx.open_store()
    try:
        live = requests.live(db)
        every = tools.tools(db)
        return {t.tool_id: {row.source for row in live.get(t.id, ())} for t in every}
    finally:
        db.close()


def offered(window, qtbot):
    """The dialog that the Playground's button leads to."""
    window.open_page("playground")
    settled(window, qtbot)
    window.page.tried.empty.write.click()
    settled(window, qtbot)
    assert window.page is window.catalog
    return window.catalog.findChildren(RequestOffer)[-1]


def test_the_playground_says_what_lacks_and_nothing_is_sent_before_a_yes(
    fill, open_window, qtbot, log, ctx
):
    fill()
    window = open_window()
    dialog = offered(window, qtbot)
    words = window.pages["playground"].tried.empty.lacking.text()
    held = sum(bool(row.held) for row in window.live.catalog.tools)
    total = len(sources(ctx)) - held
    assert f"{total} of {len(sources(ctx))} tools" in words and "72 of 100 queries" in words
    shown = " ".join(label.text() for label in dialog.findChildren(QLabel))
    assert held and f"Nothing is sent of {held} tool held back in Review." in shown
    assert dialog.way.currentData() == "claude"
    assert f"descriptions of {total} tools" in dialog.sent.text()
    assert "sends it to the provider" in dialog.sent.text()
    assert not dialog.later.isChecked() and not dialog.url.isVisible()
    dialog.reject()
    assert claude_program.asked(log) == []


def test_requests_are_written_in_the_background_after_a_yes(fill, open_window, qtbot, log, ctx):
    fill()
    window = open_window()
    dialog = offered(window, qtbot)
    dialog.save.click()
    settled(window, qtbot)
    assert "requests for" in window.catalog.messages.text
    held = {row.tool.tool_id for row in window.live.catalog.tools if row.held}
    assert {tool for tool, who in sources(ctx).items() if who != {"model"}} == held
    assert not Settings.load(ctx.paths.settings_file).requests_new
    window.open_page("playground")
    settled(window, qtbot)
    assert not window.page.tried.empty.write.isVisible()
    window.catalog.write_requests()
    settled(window, qtbot)
    assert window.catalog.findChildren(RequestOffer) == []


def test_an_endpoint_needs_a_model_s_name(fill, open_window, qtbot, log):
    fill()
    window = open_window()
    dialog = offered(window, qtbot)
    dialog.way.setCurrentIndex(dialog.way.count() - 1)
    assert dialog.url.isVisible() and "127.0.0.1:11434" in dialog.sent.text()
    dialog.save.click()
    assert dialog.isVisible() and "Which model?" in dialog.problem.text()
    dialog.model.setText("qwen3")
    assert "(model qwen3)" in dialog.sent.text()
    dialog.reject()


def test_new_servers_get_theirs_by_themselves_where_that_is_on(
    open_window, places, qtbot, log, ctx
):
    file = places.home / ".cursor/mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"mcpServers": {"one": entry("tools=3")}}), encoding="utf-8")
    ctx.paths.create()
    ctx.keep(requests_command="claude", requests_new=True)
    window = open_window()
    reading = window.catalog.reading
    qtbot.waitUntil(lambda: reading.model.rowCount() == 1, timeout=20_000)
    settled(window, qtbot)
    window.catalog.primary()
    qtbot.waitUntil(lambda: len(sources(ctx)) == 3, timeout=60_000)
    settled(window, qtbot)
    assert all(who == {"model"} for who in sources(ctx).values())
    assert len(claude_program.asked(log)) == 1


@pytest.fixture
def connected_host(ctx, monkeypatch):
    """connected_host(answer): a host at the backend whose model answers like that."""
    home = ctx.paths.home
    monkeypatch.delenv("TOOLCRIB_STANDALONE")
    environ = {
        **os.environ, "PYTHONPATH": str(ROOT), "TOOLCRIB_HOME": str(home),
        "TOOLCRIB_BACKEND_IDLE": "60",
    }  # fmt: skip
    started = []

    def start(answer):
        content = {"role": "assistant", "model": "fake"}
        answers = {
            "sampling/createMessage": lambda message: (
                content | {"content": {"type": "text", "text": answer(message)}}
            )
        }
        host = raw_host.RawHost(raw_host.gateway_command("--profile", "default"), environ, answers)
        started.append(host)
        host.initialize()
        host.tools()
        return host

    yield start
    for host in started:
        host.close()
    request(Place(str(home)), STOP)


def three_words_each(message):
    prompt = message["params"]["messages"][0]["content"]["text"]
    rows = [json.loads(line) for line in prompt.splitlines() if line.startswith('{"number"')]
    return json.dumps({str(row["number"]): [f"please use {row['name']}"] for row in rows})


def test_a_connected_host_s_model_is_offered_and_asked_after_a_yes(
    fill, open_window, qtbot, log, ctx, connected_host
):
    fill()
    host = connected_host(three_words_each)
    window = open_window()
    dialog = offered(window, qtbot)
    names = [dialog.way.itemText(index) for index in range(dialog.way.count())]
    assert names[1:2] == ["The model of raw-host, which is connected now"]
    assert not host.asked and dialog.later.isVisible()
    dialog.way.setCurrentIndex(1)
    assert "raw-host, whose own model answers; it may ask you first" in dialog.sent.text()
    assert not dialog.later.isVisible() and not dialog.url.isVisible()
    dialog.save.click()
    settled(window, qtbot)
    assert "requests for" in window.catalog.messages.text, window.catalog.messages.text
    assert {message["method"] for message in host.asked} == {"sampling/createMessage"}
    assert "model" in set().union(*sources(ctx).values())
    kept = Settings.load(ctx.paths.settings_file)
    assert (kept.requests_command, kept.requests_url, kept.requests_new) == ("", "", False)


def test_a_backend_that_does_not_answer_is_named_and_other_models_are_offered(
    fill, open_window, qtbot, log, ctx, connected_host
):
    fill()
    connected_host(three_words_each)
    window = open_window()
    backend = psutil.Process(request(Place(str(ctx.paths.home)), STATUS)["pid"])
    backend.suspend()
    try:
        dialog = offered(window, qtbot)
    finally:
        backend.resume()
    assert dialog.way.itemText(1) == "An OpenAI-compatible endpoint"
    assert "Toolcrib's backend does not answer" in window.catalog.messages.text


def test_a_backend_that_does_not_answer_is_waited_for_in_view_and_can_be_left(
    fill, open_window, qtbot, log, ctx, connected_host
):
    fill()
    connected_host(three_words_each)
    window = open_window()
    settled(window, qtbot)
    backend = psutil.Process(request(Place(str(ctx.paths.home)), STATUS)["pid"])
    messages = window.catalog.messages
    backend.suspend()
    try:
        window.catalog.write_requests()
        qtbot.waitUntil(lambda: "Looking for a connected host" in messages.text, timeout=60_000)
        cancel = next(b for b in messages.findChildren(QPushButton) if b.text() == "Cancel")
        cancel.click()
        assert messages.text == ""
    finally:
        backend.resume()
    settled(window, qtbot)
    assert not window.catalog.findChildren(RequestOffer)
    window.catalog.write_requests()  # and again, now that it answers
    settled(window, qtbot)
    assert messages.text == ""
    window.catalog.findChildren(RequestOffer)[-1].reject()


def test_a_host_that_leaves_writes_nothing_and_another_model_can_be_chosen(
    fill, open_window, qtbot, log, ctx, connected_host
):
    fill()
    host = connected_host(three_words_each)
    window = open_window()
    dialog = offered(window, qtbot)
    dialog.way.setCurrentIndex(1)
    host.close()
    dialog.save.click()
    settled(window, qtbot)
    assert "raw-host wrote nothing." in window.catalog.messages.text
    assert not set().union(*sources(ctx).values()) - {"pack"}
