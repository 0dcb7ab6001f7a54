"""CPU of opening and filtering the window: `python -m tests.bench.window.opening HOME`."""

import json
import sys
import time
from pathlib import Path

from PySide6.QtCore import QEventLoop

from app.core.context import AppContext
from app.hosts.places import Places
from ui.application import make_application, make_window
from ui.pages.catalog.page import CatalogPage

LINES = ("t", "to", "too", "tool", "tool_1", "server:server-1", "tokens:>1k", "-tool_2", "")


def main(home: Path) -> None:
    """Open the window on TOOLCRIB_HOME's store; print CPU times, sizes and modules as JSON.

    `filled` is the CPU of this process in seconds, from its start until the tree is filled;
    `keys` are milliseconds of CPU for each filter line.
    """
    app = make_application(["toolcrib"])
    window = make_window(app, AppContext.default(), Places(home, {}, "linux", root=home))
    window.show()
    loop = QEventLoop()
    window.live.loaded.connect(loop.quit)
    loop.exec()
    app.processEvents()
    filled = time.process_time()
    page = window.pages["catalog"]
    if not isinstance(page, CatalogPage):
        raise TypeError("the first page is not the catalogue")
    content = page.content
    keys = []
    for line in LINES:
        content.filter.edit.blockSignals(True)
        content.filter.edit.setText(line)
        content.filter.edit.blockSignals(False)
        start = time.process_time()
        content.filter.apply()
        app.processEvents()
        keys.append((time.process_time() - start) * 1000)
    figures = {
        "filled": filled,
        "keys": keys,
        "rows": len(window.live.catalog.tools) if window.live.catalog else 0,
        "top": content.model.rowCount(),
        "modules": sorted({module.split(".")[0] for module in sys.modules}),
    }
    sys.stdout.write(json.dumps(figures) + "\n")
    window.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
