"""Activity, Suggestions: what hooks suggested and what became of it, over a real journal."""

import pytest

from app.core.settings import GatewaySettings
from store import events, queries
from store.connection import transaction
from store.records import EventRecord
from ui.pages.activity.page import SUGGESTIONS, ActivityPage
from ui.pages.activity.suggestions import OUTCOMES

TIMEOUT = 20_000
AT = 1_790_000_000.0


@pytest.fixture
def page(services, qtbot):
    services.ctx.clock = lambda: AT
    services.live.load()
    qtbot.waitUntil(lambda: services.live.catalog is not None, timeout=TIMEOUT)
    page = ActivityPage(services)
    qtbot.addWidget(page)
    page.resize(1092, 660)
    return page


def note(services, *added):
    db = services.ctx.open_store()
    with transaction(db):
        events.add(db, added)
    db.close()


def prompt(at, *tools, query="", host="claude-code"):
    detail = {
        "hook": "claude-code",
        "tools": tools,
        "scores": [0.91] * len(tools),
        "likeness": 0.5,
        "silence": "" if tools else "small talk",
    }
    fields = {"host": host, "session": "s", "query": query}
    tokens = 120 if tools else 0
    return EventRecord(AT + at, "suggest", **fields, tokens=tokens, ms=12.0, detail=detail)


def call(at, tool):
    return EventRecord(AT + at, "call", host="claude-code", session="s", tool=tool)


def show(page, qtbot):
    page.show()
    qtbot.waitUntil(page.tabs.isVisible, timeout=TIMEOUT)
    page.tabs.setCurrentIndex(SUGGESTIONS)
    qtbot.waitUntil(lambda: page.services.tasks.idle, timeout=TIMEOUT)
    return page.suggestions


def cells(tab):
    model = tab.model
    return [
        [model.index(row, column).data() for column in range(1, model.columnCount())]
        for row in range(model.rowCount())
    ]


def values(tab):
    return [label.text() for label in tab.figures.values]


def test_each_prompt_shows_what_was_suggested_and_what_was_called(page, services, qtbot):
    note(
        services,
        prompt(1, "github/merge", "github/search"),
        call(2, "github/merge"),
        prompt(3, "github/search"),
        call(4, "time/now"),
        prompt(5),
    )
    tab = show(page, qtbot)
    assert cells(tab) == [
        [
            "Claude Code",
            "The prompt is nearer to small talk than to any tool.",
            "", "", "12", "Silent", "",
        ],
        ["Claude Code", "github/search", "0.91", "120", "12", "Another called", "time/now"],
        ["Claude Code", "github/merge, github/search", "0.91", "120", "12", "Called",
         "github/merge"],
    ]  # fmt: skip
    assert values(tab) == ["2", "50 %", "1", "1", "120"]
    assert tab.weeks.text().startswith("Hit rate, week of 21 Sep: 1 of 2 (50 %)")


def test_it_follows_the_journal(page, services, qtbot):
    note(services, prompt(1, "github/merge"))
    tab = show(page, qtbot)
    assert cells(tab)[0][5] == "None called"
    note(services, call(2, "github/merge"))
    qtbot.waitUntil(lambda: cells(tab)[0][5] == "Called", timeout=TIMEOUT)


def test_hosts_that_call_by_themselves_are_not_judged(page, services, qtbot):
    note(services, prompt(1, "github/merge", host=""))
    tab = show(page, qtbot)
    assert cells(tab)[0][0] == "Claude Code" and cells(tab)[0][5] == "Not seen"
    assert values(tab)[:2] == ["1", "–"]
    assert tab.weeks.text() == "Hit rate per week: no call can be seen yet."


def test_without_suggestions_it_leads_to_the_switch(page, services, qtbot):
    note(services, call(1, "time/now"))
    tab = show(page, qtbot)
    assert tab.main_view() is tab.empty.buttons[0]
    assert "Hosts has a switch" in tab.empty.hint.text()
    tab.empty.buttons[0].click()
    assert services.open_page.__self__.opened == ["hosts"]


def test_a_miss_becomes_a_label_in_one_press_where_the_prompt_was_kept(page, services, qtbot):
    note(
        services,
        prompt(1, "github/merge", query="what time is it in Oslo"),
        call(2, "time/now"),
        prompt(3, "github/merge"),
        call(4, "time/now"),
    )
    tab = show(page, qtbot)
    assert not tab.label.isEnabled()
    tab.view.setCurrentIndex(tab.model.index(0, 0))
    assert not tab.label.isEnabled(), "this prompt was not kept"
    assert tab.label.toolTip() == "For a miss whose prompt was kept"
    tab.view.setCurrentIndex(tab.model.index(1, 0))
    assert tab.label.isEnabled()
    tab.label.click()
    qtbot.waitUntil(lambda: services.tasks.idle, timeout=TIMEOUT)
    db = services.ctx.open_store()
    (label,) = queries.labels(db)
    db.close()
    assert (label.query, label.expected) == ("what time is it in Oslo", ("time/now",))
    status = "“what time is it in Oslo” should find time/now"
    assert services.show_status.__self__.statuses[-1] == status


def test_it_says_whether_prompts_are_kept(page, services, qtbot):
    note(services, prompt(1, "github/merge"))
    tab = show(page, qtbot)
    assert tab.kept.text().startswith("Prompts are not kept.")
    services.live.change_settings({"gateway": GatewaySettings(keep_prompts=True)})
    qtbot.waitUntil(lambda: tab.kept.text().startswith("Prompts are kept"), timeout=TIMEOUT)


def test_live_names_suggestions_and_never_sums_up_different_ones(page, services, qtbot):
    note(services, prompt(1, "github/merge"), prompt(2, "time/now"), prompt(3))
    page.show()
    qtbot.waitUntil(lambda: page.live.model.rowCount() == 3, timeout=TIMEOUT)
    names = [[page.live.model.index(r, c).data() for c in (1, 2, 3)] for r in range(3)]
    assert names == [
        ["claude-code", "No suggestion", ""],
        ["claude-code", "Suggested", "time/now"],
        ["claude-code", "Suggested", "github/merge"],
    ]
    page.live.filter.set_text("is:suggest")
    assert page.live.shown.rowCount() == 3


def test_every_outcome_has_its_words():
    from app.hooks import usage as hook_use

    every = {hook_use.SILENT, hook_use.MISSED, *hook_use.SPOKEN}
    assert set(OUTCOMES) == every
