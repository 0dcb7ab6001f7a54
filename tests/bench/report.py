"""An experiment's report: tables whose columns are marked measured, computed or projected."""

from collections.abc import Sequence
from dataclasses import dataclass

from store.typed import Json

MEASURED = "measured"  # from running code on data in this run
COMPUTED = "computed"  # by a formula from measured figures and stated constants
PROJECTED = "projected"  # rests on assumptions about models or prices that this run cannot check
PUBLISHED = "published"  # another party's figure, quoted for comparison
LABEL = "label"
_MARKS = {MEASURED: "m", COMPUTED: "c", PROJECTED: "p", PUBLISHED: "published"}

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column's name and where its figures come from."""

    name: str
    kind: str = MEASURED


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of figures under marked columns."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def as_json(self) -> Json:
        """Column kinds, and each row by column name."""
        names = [column.name for column in self.columns]
        return {
            "title": self.title,
            "kinds": {c.name: c.kind for c in self.columns if c.kind != LABEL},
            "rows": [dict(zip(names, row, strict=True)) for row in self.rows],
        }

    def as_text(self) -> str:
        """An aligned table; [m] measured, [c] computed, [p] projected."""
        heads = [
            c.name + (f" [{_MARKS[c.kind]}]" if c.kind in _MARKS else "") for c in self.columns
        ]
        lines = [heads, *[[_text(cell) for cell in row] for row in self.rows]]
        widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
        return "\n".join([self.title, *[_line(line, widths) for line in lines]])


@dataclass(frozen=True, slots=True)
class Report:
    """The tables of one experiment, and what is to be said about them."""

    experiment: str
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()

    def as_json(self) -> Json:
        """The stable JSON form."""
        return {
            "experiment": self.experiment,
            "tables": [table.as_json() for table in self.tables],
            "notes": list(self.notes),
        }

    def as_text(self) -> str:
        """All tables and notes as text."""
        parts = [table.as_text() for table in self.tables]
        if self.notes:
            parts.append("\n".join(f"- {note}" for note in self.notes))
        return "\n\n".join(parts)


def table(title: str, columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> Table:
    """A table from any sequences."""
    return Table(title, tuple(columns), tuple(tuple(row) for row in rows))


def label(name: str) -> Column:
    """A column of names."""
    return Column(name, LABEL)


def _text(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return (
            f"{cell:,.0f}"
            if abs(cell) >= 1000
            else f"{cell:.2f}"
            if abs(cell) < 1
            else f"{cell:.1f}"
        )
    return f"{cell:,}" if isinstance(cell, int) else cell


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = [
        cell.rjust(width) if place else cell.ljust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join([first, *rest]).rstrip()
