"""Labelled queries over the demo store, and what tests do with the query set's tab."""

import json
from contextlib import closing

from app.core.settings import ProfileSettings
from store import events, queries
from store.connection import transaction
from store.records import LabelRecord
from ui.pages.query_set.label_dialog import LabelDialog

ASKED = {
    "github/search_code": "search the code of all repositories",
    "github/create_pull_request": "open a pull request for my branch",
    "github/merge_pull_request": "merge the pull request into main",
    "github/list_commits": "which commits are on this branch",
    "files/read_file": "show me what is in this file",
    "files/write_file": "save this text to a file",
    "time/get_current_time": "what time is it in Tokyo",
    "slack/post_message": "tell the channel that we are done",
}
WORDS = ("please", "now", "again")


def labelled(number: int) -> list[LabelRecord]:
    made = [
        LabelRecord(0, f"{query} {word}", (tool,), "imported", float(at))
        for at, (word, (tool, query)) in enumerate((w, p) for w in WORDS for p in ASKED.items())
    ]
    return made[:number]


def put(services, rows=(), seen=()):
    with closing(services.ctx.open_store()) as db, transaction(db):
        queries.save_labels(db, rows)
        events.add(db, seen)


def stored(services):
    with closing(services.ctx.open_store()) as db:
        return queries.labels(db)


def routing(services):
    with closing(services.ctx.open_store()) as db:
        text = db.execute("SELECT settings FROM profiles WHERE name = 'default'").fetchone()[0]
    return ProfileSettings.from_json(json.loads(text)).routing


def settled(tab, qtbot):
    qtbot.waitUntil(lambda: tab.services.tasks.idle, timeout=30_000)


def run(tab, qtbot):
    with qtbot.waitSignal(tab.session.chosen, timeout=60_000):
        tab.head.run.click()
    settled(tab, qtbot)


def column(tab, title):
    table = tab.view.table
    return [table.index(row, table.place(title)).data() for row in range(table.rowCount())]


def fill_in(tab, query, tools):
    form = tab.findChild(LabelDialog)
    form.query.setText(query)
    form.tools.setText(tools)
    form.press()
    return form
