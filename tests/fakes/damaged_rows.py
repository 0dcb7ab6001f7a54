"""Every model of the window over rows whose fields hold what no store should; one line a model.

A process of its own: where a model raises, PySide may end it.
"""

import importlib
import pkgutil
import random
import sys
from pathlib import Path
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, Qt
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication, QStyledItemDelegate, QTreeView

import ui
from ui.look.theme import Theme
from ui.pages.activity.usage_tree import UsageTree
from ui.pages.catalog.tree_model import CatalogTree
from ui.pages.hosts.host_list import HostListModel
from ui.widgets.guarded import Guarded
from ui.widgets.roles import BADGE, BAR, FAINT
from ui.widgets.row_table import RowTable, TickTable
from ui.widgets.rows import as_rows
from ui.widgets.two_levels import TwoLevels

ODD = (None, -1, 10**30, float("nan"), float("inf"), "", "x" * 70_000, "\ud800", b"\xff", [], {}, 0)
ROLES = [*map(int, list(Qt.ItemDataRole)[:16]), BADGE, BAR, FAINT]


class Odd:
    """A row of which each field is of another wrong kind, or missing."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        pick = self._random.randrange(len(ODD) + 3)
        if pick == len(ODD):
            raise LookupError(name)
        return Odd(pick) if pick > len(ODD) else ODD[pick]


class OddBranch(Odd):
    """The same with rows below it."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.shown = self.leaves = [Odd(seed + n) for n in range(3)]
        self.problem = ""


def every(base: type) -> list[type]:
    """The classes of the window below one of Qt's."""
    below = [one for kind in base.__subclasses__() for one in (kind, *every(kind))]
    return [one for one in dict.fromkeys(below) if one.__module__.startswith("ui.")]


def made(kind: type, rows: list[Odd]) -> Any:
    """A model of that kind with these rows."""
    if kind is CatalogTree:
        model: Any = CatalogTree(lambda _name: QIcon())
        model._branches = [OddBranch(n) for n in range(len(rows))]
    elif kind is UsageTree:
        model = UsageTree(lambda _name: QIcon())
        model._servers, model._tools = rows, [rows for _row in rows]
    elif kind is HostListModel:
        model = HostListModel()
        model._rows = rows
    else:
        takes = "host_names" in kind.__init__.__code__.co_varnames  # type: ignore[misc]
        model = kind(*([{}] if takes else []), *([()] if kind.__name__ == "_Table" else []))
        model._rows = rows
    return model


def drawn(model: Any, theme: Theme) -> int:
    """The model in a view that is drawn, sorted and drawn again; answers that were asked for."""
    view = QTreeView()
    view.resize(900, 300)
    view.setModel(model)
    as_rows(view, theme, getattr(model, "columns", ()))
    view.expandAll()
    view.grab()
    answers = 0
    for row in range(model.rowCount()):
        for column in range(len(getattr(model, "columns", (0,)))):
            parents = (QModelIndex(), model.index(row, 0)) if hasattr(model, "tools_under") else ()
            for parent in parents or (QModelIndex(),):
                index = model.index(row, column, parent)
                answers += len([model.data(index, role) for role in ROLES])
                model.flags(index)
    view.setSortingEnabled(True)
    view.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    view.grab()
    view.deleteLater()
    return answers


def main() -> None:
    """Draw them all."""
    app = QApplication([])
    theme = Theme(app, Path(sys.argv[1]), "light")
    for module in pkgutil.walk_packages(ui.__path__, "ui."):
        importlib.import_module(module.name)
    bases = (RowTable, TickTable, TwoLevels)
    kinds = [one for one in every(QAbstractItemModel) if one not in bases]
    for kind in (*kinds, *every(QStyledItemDelegate)):
        if not issubclass(kind, Guarded):
            print(f"{kind.__name__} is not guarded", flush=True)
    for kind in kinds:
        if hasattr(kind, "sourceModel"):
            continue  # a proxy, over one of the others
        for seed in range(6):
            drawn(made(kind, [Odd(seed * 50 + n) for n in range(5)]), theme)
        print(f"drawn {kind.__name__}", flush=True)


main()
