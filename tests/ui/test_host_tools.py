"""What a host's model gets, listed on the host's page; the report; the way out."""

import pytest
from hosts_kit import SECRET, open_host, open_page, put_files, state, write
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QPushButton


@pytest.fixture
def home(places):
    return put_files(places)


@pytest.fixture
def page(home, services, qtbot):
    return open_page(services, qtbot)


def test_a_hosts_page_lists_exactly_what_its_model_gets_searchable(page, services, qtbot):
    open_host(page, qtbot, "cursor", "as-is")
    qtbot.waitUntil(lambda: page.detail.tools.isEnabled())
    size = next(s for s in services.hosts.sizes if s.facts.id == "cursor")
    page.detail.tools.click()
    table, shown = page.tools.model, page.tools.shown
    names = [tool.name for tool in table.rows]
    assert len(names) == size.sent.count == 6
    assert sum(tool.tokens for tool in table.rows) == size.sent.tokens
    assert f"6 tools, {size.sent.tokens:,} tokens ≈ at the first request." in (
        page.tools.headline.text()
    )
    assert page.tools.view.isColumnHidden(table.place("Later ≈")), "no tool comes later"
    page.tools.search.setText("time_1")
    assert [shown.index(r, 1).data() for r in range(shown.rowCount())] == ["time/time_1"]
    assert page.tools.headline.text().endswith("Showing 1 of 6.")
    assert page.escape() and page.tools.search.text() == ""
    page.tools.view.sortByColumn(2, Qt.SortOrder.DescendingOrder)
    tokens = [int(shown.index(r, 2).data()) for r in range(shown.rowCount())]
    assert tokens == sorted(tokens, reverse=True)
    off = next(r for r in range(shown.rowCount()) if shown.index(r, 5).data())
    page.tools.view.setCurrentIndex(shown.index(off, 0))
    assert "given although it is turned off in this profile" in page.tools.why.text()
    assert page.escape() and page.detail.isVisible()


def test_the_list_follows_a_write(page, services, qtbot):
    open_host(page, qtbot, "cursor", "through")
    write(page, qtbot)
    qtbot.waitUntil(lambda: state(page, "cursor") == "Through Toolcrib · in sync")
    page.detail.tools.click()
    states = {tool.name: tool.state for tool in page.tools.model.rows}
    assert states["toolcribsearch_tools"] == "given"
    assert "behind the search" in states.values() and "off" in states.values()


def test_the_list_is_saved_as_markdown_csv_and_json(page, services, qtbot, home):
    open_host(page, qtbot, "cursor", "as-is")
    qtbot.waitUntil(lambda: page.detail.tools.isEnabled())
    page.detail.tools.click()
    for ending, start in (("md", "# Tools"), ("csv", "host,mode,"), ("json", "{")):
        file = home / f"report.{ending}"
        next(b for b in page.tools.findChildren(QPushButton) if b.text() == "Export…").click()
        dialog = page.tools.findChild(QFileDialog, "saveFile")
        dialog.fileSelected.emit(str(file))
        dialog.reject()
        dialog.setObjectName("done")
        assert file.read_text(encoding="utf-8").startswith(start)
    assert SECRET not in file.read_text(encoding="utf-8")


def test_the_way_out_without_any_write_says_so(page, qtbot):
    page.restore_all()
    text = "No host's file holds a write of Toolcrib."
    qtbot.waitUntil(lambda: page.messages.text == text, timeout=20_000)
