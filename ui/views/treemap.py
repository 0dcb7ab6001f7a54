"""The treemap below the tree: areas are tokens; it selects what the tree selects and back."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QFont,
    QFontMetrics,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from ui.colors import text_on
from ui.models.treemap import HEADER, Box, Cell, Field, Group, Item, lay_out
from ui.text import APPROX, count, plural, short
from ui.theme import Theme
from ui.views.delegates import hatch


class Treemap(QWidget):
    """All tools as areas.

    Signals: tool_chosen(tool row id), server_chosen(name) on a click or a key; a double click or
    Enter zooms into a server, the page's Escape out.
    """

    tool_chosen = Signal(int)
    server_chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("treemap")
        self.setAccessibleName("Map of tokens")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._theme = theme
        self._groups: tuple[Group, ...] = ()
        self._fields: tuple[Field, ...] = ()
        self._picture: QPixmap | None = None  # all but selection and hover
        self._selected = 0
        self._hovered: Cell | None = None
        self._zoomed = ""  # name of the one server shown
        theme.changed.connect(self._lay_out)

    @property
    def zoomed(self) -> str:
        """The server that fills the map, "" for all."""
        return self._zoomed

    @property
    def fields(self) -> tuple[Field, ...]:
        """The areas, for tests and pictures."""
        return self._fields

    def show_groups(self, groups: Sequence[Group]) -> None:
        """Show other servers; areas stand still when only states changed."""
        self._groups = tuple(groups)
        if self._zoomed not in {g.name for g in groups}:
            self._zoomed = ""
        self._lay_out()
        total = sum(g.tokens for g in groups)
        self.setAccessibleDescription(
            f"{plural(len(groups), 'server')}, {count(total)} tokens; the tree above has the same"
        )

    def select(self, tool_id: int) -> None:
        """Outline a tool, 0 for none; emits nothing."""
        self._selected = tool_id
        self.update()

    def zoom(self, server: str) -> None:
        """Show one server, "" for all."""
        self._zoomed = server
        self._lay_out()

    def cell_of(self, tool_id: int) -> Cell | None:
        """The cell in which that tool is."""
        return next((c for c in self._all() if any(i.id == tool_id for i in c.items)), None)

    def sizeHint(self) -> QSize:
        """A band."""
        return QSize(600, 180)

    def minimumSizeHint(self) -> QSize:
        """Still a map."""
        return QSize(120, 80)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay out anew."""
        super().resizeEvent(event)
        self._lay_out()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The kept picture, then hover and selection."""
        if self._picture is None or self._picture.devicePixelRatio() != self.devicePixelRatioF():
            self._picture = self._draw()
        painter = QPainter(self)
        painter.drawPixmap(0, 0, self._picture)
        colors = self._theme.colors
        if self._hovered is not None:
            painter.setPen(QPen(colors.text, 1))
            painter.drawRect(_rect(self._hovered.box).adjusted(0.5, 0.5, -1.5, -1.5))
        cell = self.cell_of(self._selected) if self._selected else None
        if cell is not None:
            painter.setPen(QPen(colors.base, 4))
            painter.drawRect(_rect(cell.box).adjusted(1, 1, -2, -2))
            painter.setPen(QPen(colors.text, 2))
            painter.drawRect(_rect(cell.box).adjusted(1, 1, -2, -2))
        if self.hasFocus():
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(colors.accent.ink, 2))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 4, 4)
        painter.end()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Outline what is under the mouse."""
        cell = self._cell_at(event.position())
        if cell is not self._hovered:
            self._hovered = cell
            self.update()

    def leaveEvent(self, event: QEvent) -> None:
        """No outline without a mouse."""
        super().leaveEvent(event)
        self._hovered = None
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click selects the tool, or the server whose header it hits."""
        cell = self._cell_at(event.position())
        field = self._field_at(event.position())
        if cell is not None:
            self._choose(cell.items[0])
        elif field is not None:
            self.server_chosen.emit(field.group.name)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Zoom into the server, and out."""
        field = self._field_at(event.position())
        if field is not None:
            self.zoom("" if self._zoomed else field.group.name)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows go from tool to tool in the order of size; Enter zooms."""
        key = Qt.Key(event.key())
        forward = {Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1, Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1}
        if key in forward:
            self._step(forward[key])
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            cell = self.cell_of(self._selected)
            if cell is not None:
                self.zoom("" if self._zoomed else cell.group.name)
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """The tooltip says what is under the mouse."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            point = QPointF(event.pos())
            cell, field = self._cell_at(point), self._field_at(point)
            if cell is not None:
                QToolTip.showText(event.globalPos(), describe(cell), self)
            elif field is not None:
                text = f"{field.group.name}: {count(field.group.tokens)} tokens {APPROX}"
                QToolTip.showText(event.globalPos(), text, self)
            return True
        return super().event(event)

    def _all(self) -> list[Cell]:
        return [cell for field in self._fields for cell in field.cells]

    def _step(self, by: int) -> None:
        order = sorted(
            (i for f in self._fields for c in f.cells for i in c.items), key=lambda i: -i.tokens
        )
        if order:
            ids = [item.id for item in order]
            at = ids.index(self._selected) + by if self._selected in ids else 0
            self._choose(order[max(0, min(len(order) - 1, at))])

    def _choose(self, item: Item) -> None:
        self.select(item.id)
        cell = self.cell_of(item.id)
        if cell is not None:
            state = "held back" if item.held else "on" if item.on else "off"
            text = f"{item.name}, {cell.group.name}, {count(item.tokens)} tokens, {state}"
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))
        self.tool_chosen.emit(item.id)

    def _cell_at(self, point: QPointF) -> Cell | None:
        found = (c for c in self._all() if c.box.contains(point.x(), point.y()))
        return next(found, None)

    def _field_at(self, point: QPointF) -> Field | None:
        return next((f for f in self._fields if f.box.contains(point.x(), point.y())), None)

    @property
    def _band(self) -> float:
        """Pixels of a server's name band, at the text size in use."""
        return float(self._theme.scaled(round(HEADER)))

    def _lay_out(self) -> None:
        shown = [g for g in self._groups if not self._zoomed or g.name == self._zoomed]
        self._fields = lay_out(shown, Box(0, 0, self.width(), self.height()), self._band)
        self._hovered = None
        self._redraw()

    def _redraw(self) -> None:
        self._picture = None
        self.update()

    def _draw(self) -> QPixmap:
        ratio = self.devicePixelRatioF()
        picture = QPixmap(self.size() * ratio)
        picture.setDevicePixelRatio(ratio)
        picture.fill(self._theme.colors.window)
        painter = QPainter(picture)
        band = self._theme.font(-1, QFont.Weight.DemiBold)
        small = self._theme.font(-2)
        for field in self._fields:
            self._draw_field(painter, field, band=band, small=small)
        painter.end()
        return picture

    def _draw_field(self, painter: QPainter, field: Field, *, band: QFont, small: QFont) -> None:
        color = self._theme.colors.server(field.group.place)
        tint = self._theme.colors.cell(color)
        area = _rect(field.box)
        painter.fillRect(area, color)
        for cell in field.cells:
            self._draw_cell(painter, cell, tint=tint, small=small)
        header = QRectF(
            area.left() + 4, area.top(), area.width() - 8, min(self._band, area.height())
        )
        name = f"{field.group.name}  {short(field.group.tokens)}"
        metrics = QFontMetrics(band)
        if header.width() > 24 and header.height() >= 16:
            painter.setFont(band)
            painter.setPen(text_on(color))
            text = metrics.elidedText(name, Qt.TextElideMode.ElideRight, int(header.width()))
            painter.drawText(header, Qt.AlignmentFlag.AlignVCenter, text)

    def _draw_cell(self, painter: QPainter, cell: Cell, *, tint: object, small: QFont) -> None:
        colors = self._theme.colors
        area = _rect(cell.box).adjusted(0, 0, -1, -1)
        on = any(item.on and not item.held for item in cell.items)
        painter.fillRect(area, tint if on else colors.base)
        if not on:
            hatch(painter, area, colors)
        if any(item.held for item in cell.items) and area.width() > 6:
            painter.setPen(QPen(colors.block.ink, 2))
            painter.drawRect(area.adjusted(2, 2, -2, -2))
        if area.width() > 46 and area.height() > 15 and on:
            painter.setFont(small)
            painter.setPen(colors.text)
            item = cell.items[0]
            name = item.name if len(cell.items) == 1 else f"+{len(cell.items)} small"
            words = area.adjusted(4, 2, -3, -2)
            text = QFontMetrics(small).elidedText(
                name, Qt.TextElideMode.ElideRight, int(words.width())
            )
            painter.drawText(words, Qt.AlignmentFlag.AlignTop, text)


def describe(cell: Cell) -> str:
    """What the tooltip of a cell says."""
    if len(cell.items) > 1:
        total = sum(item.tokens for item in cell.items)
        return f"{len(cell.items)} small tools of {cell.group.name}: {count(total)} tokens {APPROX}"
    item = cell.items[0]
    state = "held back" if item.held else "on" if item.on else "off"
    return f"{cell.group.name}/{item.name}: {count(item.tokens)} tokens {APPROX}, {state}"


def _rect(box: Box) -> QRectF:
    return QRectF(round(box.x), round(box.y), _span(box.x, box.width), _span(box.y, box.height))


def _span(start: float, length: float) -> int:
    """Whole pixels, so that neighbours neither overlap nor leave gaps."""
    return round(start + length) - round(start)
