"""The Hosts page offers an install link where it cannot write the host's file."""

import os

import pytest
from hosts_kit import CURSOR, SECRET, open_host, open_page, put_files
from PySide6.QtGui import QGuiApplication


@pytest.fixture
def page(places, services, qtbot):
    put_files(places)
    return open_page(services, qtbot)


def test_the_link_is_offered_where_the_file_cannot_be_edited(page, places, qtbot) -> None:
    page.services.advanced.switch(on=False)
    open_host(page, qtbot, "cursor", "through")
    assert page.detail.link.isHidden(), "the file can be written"
    (places.home / CURSOR).write_text("{ broken")
    page.refresh()
    qtbot.waitUntil(lambda: bool(page.preview and page.preview.plan.refusal))
    assert page.detail.link.isVisible() and not page.detail.write.isEnabled()
    page.detail.link.click()
    link = QGuiApplication.clipboard().text()
    assert link == page.preview.plan.link
    assert link.startswith("cursor://") and SECRET not in link
    assert page.messages.text.startswith("The link is copied. Open it on this computer. Cursor ")


def test_a_file_that_is_managed_has_a_link(page, places, qtbot, monkeypatch) -> None:
    page.services.advanced.switch(on=False)
    access = os.access
    closed = places.home / CURSOR  # root, as whom tests may run, can write any file
    monkeypatch.setattr(os, "access", lambda path, mode: path != closed and access(path, mode))
    open_host(page, qtbot, "cursor", "through")
    assert page.detail.link.isVisible() and page.detail.write.isEnabled()


def test_with_everything_shown_every_host_that_takes_a_link_has_it(page, qtbot) -> None:
    open_host(page, qtbot, "cursor", "through")
    assert page.detail.link.isVisible()
    open_host(page, qtbot, "cursor", "pruned")
    assert page.detail.link.isHidden()
    open_host(page, qtbot, "codex", "through")
    assert page.detail.link.isHidden(), "it takes none"
