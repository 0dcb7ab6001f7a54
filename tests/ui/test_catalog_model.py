"""The tree of servers and tools as a model: text pictures of its rows."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QIcon

from app.catalog.catalog import load_catalog, set_on, set_pinned
from ui.pages.catalog.tree_cells import FLAGS, HOSTS, NAME, TOKENS
from ui.pages.catalog.tree_model import CatalogTree
from ui.widgets.columns import place
from ui.widgets.filter_query import parse
from ui.widgets.roles import BADGE, BAR, FAINT

MARKS = {Qt.CheckState.Checked: "[x]", Qt.CheckState.Unchecked: "[ ]", None: "   "}
NAMES = {"claude-desktop": "Claude Desktop", "cursor": "Cursor"}


@pytest.fixture
def filled(db, demo):
    demo.fill(db)
    return db


@pytest.fixture
def model(qapp, filled, qtmodeltester) -> CatalogTree:
    model = CatalogTree(lambda name: QIcon())
    model.show(load_catalog(filled), NAMES)
    return model


def picture(model: CatalogTree) -> str:
    """One line per row: check, name, tokens, flags, hosts."""
    lines = []

    def walk(parent: QModelIndex, depth: int) -> None:
        for row in range(model.rowCount(parent)):
            cells = [model.index(row, c, parent) for c in range(model.columnCount())]
            state = cells[0].data(Qt.ItemDataRole.CheckStateRole)
            mark = MARKS.get(state, "[-]")
            shown = [place(model.columns, title) for title in (NAME, TOKENS, FLAGS, HOSTS)]
            texts = [str(cells[column].data() or "") for column in shown]
            lines.append(f"{'  ' * depth}{mark} {' | '.join(texts)}".rstrip(" |"))
            walk(cells[0], depth + 1)

    walk(QModelIndex(), 0)
    return "\n".join(lines)


def test_servers_and_tools_largest_first_and_failures_on_top(model: CatalogTree):
    assert picture(model) == "\n".join(
        [
            "    slack |  | Could not start | Claude Desktop",
            "      Could not start: exit code 1: no token",
            "[x] github | 3,095 |  | Claude Desktop, Cursor",
            "  [x] search_code | 1,412",
            "  [x] merge | 942 | Destructive",
            "  [x] create_issue | 741",
            "[x] team | 300 | Not trusted | Claude Desktop",
            "  [x] deploy | 300 | Held back",
            "[x] time | 200 |  | Claude Desktop",
            "  [x] convert | 110",
            "  [x] now | 90",
        ]
    )


def test_the_model_is_sound(model: CatalogTree, qtmodeltester):
    qtmodeltester.check(model)


def test_a_tick_shows_in_tool_and_server_and_moves_nothing(model: CatalogTree, filled):
    before = load_catalog(filled)
    merge = before.find("github/merge")
    set_on(filled, "default", [merge.tool.id], False)
    now = load_catalog(filled)
    model.update({merge.tool.id: now.find("github/merge")})
    lines = picture(model).splitlines()
    assert lines[2] == "[-] github | 2,153 |  | Claude Desktop, Cursor"
    assert lines[4] == "  [ ] merge | 942 | Destructive"
    index = model.index_of_tool(merge.tool.id)
    assert index.siblingAtColumn(place(model.columns, TOKENS)).data(FAINT)
    assert index.siblingAtColumn(place(model.columns, TOKENS)).data(BAR) == (
        0.0,
        pytest.approx(942 / 1412),
    )
    solid, hatched = (
        model.index_of_server("github").siblingAtColumn(place(model.columns, TOKENS)).data(BAR)
    )
    assert (solid, hatched) == (pytest.approx(2153 / 3095), pytest.approx(942 / 3095))


def test_a_filter_keeps_parents_and_hides_the_rest(model: CatalogTree, qtmodeltester):
    model.set_filter(parse("server:github tokens:>900"))
    assert picture(model).splitlines() == [
        "[x] github | 3,095 |  | Claude Desktop, Cursor",
        "  [x] search_code | 1,412",
        "  [x] merge | 942 | Destructive",
    ]
    qtmodeltester.check(model)
    model.set_filter(parse(""))
    assert len(picture(model).splitlines()) == 11


def test_ticking_a_server_under_a_filter_asks_for_the_shown_tools_only(model: CatalogTree):
    model.set_filter(parse("merge"))
    asked = []
    model.tick_requested.connect(lambda tools, on: asked.append(([t.tool.name for t in tools], on)))
    index = model.index_of_server("github")
    assert model.setData(index, Qt.CheckState.Unchecked.value, Qt.ItemDataRole.CheckStateRole)
    assert asked == [(["merge"], False)]
    assert "[x] github" in picture(model)  # the model waits for the catalogue to change


def test_persistent_indexes_follow_their_rows(model: CatalogTree, filled):
    tool = load_catalog(filled).find("time/now").tool.id
    kept = QPersistentModelIndex(model.index_of_tool(tool))
    gone = QPersistentModelIndex(model.index_of_server("slack"))
    model.sort(place(model.columns, NAME), Qt.SortOrder.AscendingOrder)
    assert kept.data() == "now"
    model.set_filter(parse("server:time"))
    assert kept.data() == "now" and not gone.isValid()
    model.show(load_catalog(filled), NAMES)
    assert kept.data() == "now"


def test_sorting_by_name(model: CatalogTree):
    model.sort(place(model.columns, NAME), Qt.SortOrder.AscendingOrder)
    names = [line.split("|")[0].strip(" []x") for line in picture(model).splitlines()]
    assert names[2:6] == ["github", "create_issue", "merge", "search_code"]


def test_every_painted_cell_has_its_text_for_screen_readers(model: CatalogTree, filled):
    pinned = load_catalog(filled).find("github/create_issue").tool.id
    set_pinned(filled, "default", [pinned], True)
    model.show(load_catalog(filled), NAMES)
    badges = 0
    for server in range(model.rowCount()):
        parent = model.index(server, 0)
        rows = [parent, *(model.index(r, 0, parent) for r in range(model.rowCount(parent)))]
        for row in rows:
            badge = row.siblingAtColumn(place(model.columns, FLAGS)).data(BADGE)
            assert (badge.word if badge else "") == (
                row.siblingAtColumn(place(model.columns, FLAGS)).data() or ""
            )
            badges += badge is not None
            assert row.data(Qt.ItemDataRole.AccessibleTextRole)
            if row.siblingAtColumn(place(model.columns, TOKENS)).data(BAR):
                assert row.siblingAtColumn(place(model.columns, TOKENS)).data()
    assert badges == 5


def test_a_row_tells_its_state_in_words(model: CatalogTree, filled):
    tool = load_catalog(filled).find("team/deploy").tool.id
    said = model.index_of_tool(tool).data(Qt.ItemDataRole.AccessibleTextRole)
    assert said == "deploy, team, 300 tokens, Held back: its server is not trusted yet"


def test_rows_outside_are_refused(model: CatalogTree):
    assert not model.index(99, 0).isValid()
    assert not model.index(0, 9).isValid()
    assert model.data(QModelIndex()) is None
    assert not model.setData(QModelIndex(), 2, Qt.ItemDataRole.CheckStateRole)
    assert model.headerData(9, Qt.Orientation.Horizontal) is None
    assert not model.index_of_tool(10_000).isValid()


def test_the_token_column_sorts_by_what_it_shows(filled, model):
    catalog = load_catalog(filled)
    github = [t for t in catalog.tools if t.server.name == "github"]
    model.update({t.tool.id: replace(t, on=False) for t in github[1:]})
    model.sort(place(model.columns, TOKENS), Qt.SortOrder.DescendingOrder)
    column = place(model.columns, TOKENS)
    servers = [model.index(row, column).data() for row in range(model.rowCount())]
    shown = [int(text.replace(",", "")) for text in servers if text]
    assert shown == sorted(shown, reverse=True)
    assert shown.count(github[0].cost) == 1  # what is on, not the 3,000 that could be
