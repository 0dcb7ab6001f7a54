"""The whole window over a store whose values were replaced by odd ones of the columns' types.

A process of its own: where a page's model raises, PySide may end it. Prints a line a page.
"""

import json
import random
import sys
import traceback
from collections.abc import Callable, Iterator

import apsw
import demo_store
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtGui import QCloseEvent

from app.core.context import AppContext
from app.core.logs import configure
from app.hosts.places import Places
from store import events
from store.records import EventRecord
from ui.application import make_application
from ui.look.theme import Theme
from ui.windows.main_window import MainWindow
from ui.windows.sections import SECTIONS

ODD = {
    "TEXT": ("", "x" * 5_000, "{", "[]", "null", "-1", '{"name": 5}', '{"a": 1e999}', "\x00\u202e"),
    "INTEGER": (-1, 0, 2**62, -(2**62), 7),
    "REAL": (0.0, -1e18, 1e300, float("inf"), -5.5),
    "BLOB": (b"", b"\xff" * 9),
}
TABLES = ("servers", "server_entries", "tools", "token_counts", "summaries", "profiles", "events",
          "findings", "profile_tools", "exports", "hidden_tools", "usage", "labels")  # fmt: skip


def damage(db: apsw.Connection, seed: int) -> int:
    """Put odd values into a third of the cells that take them; how many were put."""
    chance, count = random.Random(seed), 0
    known = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table in sorted(known.intersection(TABLES)):
        for column, kind in list(_columns(db, table)):
            for (rowid,) in list(db.execute(f"SELECT rowid FROM {table}")):
                if chance.random() < 0.3:
                    value = chance.choice(ODD[kind])
                    try:
                        db.execute(
                            f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, rowid)
                        )
                        count += 1
                    except apsw.Error:
                        pass  # a constraint keeps it out, and so from the window
    return count


def _columns(db: apsw.Connection, table: str) -> Iterator[tuple[str, str]]:
    for row in db.execute(f"PRAGMA table_info({table})"):
        if row[1] != "id" and not row[1].endswith("_id") and row[2] in ODD:
            yield row[1], row[2]


def wait(done: Callable[[], bool], most_ms: int = 5_000) -> None:
    """Let the window work until it is done, or for so long."""
    loop, over = QEventLoop(), QTimer(singleShot=True)
    look = QTimer(interval=20)
    look.timeout.connect(lambda: done() and loop.quit())
    over.timeout.connect(loop.quit)
    over.start(most_ms)
    look.start()
    loop.exec()
    look.stop()
    over.stop()


def main() -> None:
    """Damage, open, visit each page, close."""
    seed = int(sys.argv[1])
    ctx = AppContext.default()
    ctx.paths.create()
    configure(ctx.paths.logs)
    app = make_application(["toolcrib"])
    shown: list[str] = []
    with ctx.store() as db:
        demo_store.fill(db)
        at = [demo_store.AT + n for n in range(40)]
        events.add(db, [EventRecord(one, "call", tool="github/merge", ms=3.0) for one in at])
        print(f"damaged {damage(db, seed)} cells", flush=True)
    theme = Theme(app, ctx.paths.home / "cache", "light")

    def note(kind: type[BaseException], _error: BaseException, trace: object) -> None:
        frames = traceback.extract_tb(trace)  # type: ignore[arg-type]
        shown.append(f"{kind.__name__} at {frames[-1].filename}:{frames[-1].lineno}")
        print(shown[-1], flush=True)

    sys.excepthook = note
    window = MainWindow(ctx, Places.here(), theme)
    window.resize(1280, 800)
    window.show()
    for section in SECTIONS:
        window.open_page(section.key)
        wait(lambda: window.tasks.idle)  # the Playground may be at its encoder for longer
        window.grab()
        print(f"seen {section.key}", flush=True)
    window.close()
    window.closeEvent(QCloseEvent())
    print(json.dumps(shown), flush=True)


main()
