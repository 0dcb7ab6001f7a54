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

from app.core.text import plural
from ui.look.colors import text_on
from ui.look.text import APPROX, count, plain_tip, short
from ui.look.theme import Theme
from ui.pages.catalog.treemap_layout import HEADER, Box, Cell, Field, Group, Item, lay_out
from ui.widgets.delegates import hatch

_LABEL_WIDTH, _LABEL_HEIGHT = 34, 13  # pixels; smaller cells have no room for letters


class Treemap(QWidget):
    """All tools as areas.

    Signals: tool_chosen(tool row id), server_chosen(name) on a click or a key; a double click or
    Enter zooms into a server, the page's Escape out, zoom_changed(server, "" for all);
    pointed(sentence) says what is under the mouse, else what is selected.
    """

    tool_chosen = Signal(int)
    server_chosen = Signal(str)
    zoom_changed = Signal(str)
    pointed = Signal(str)

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
        """Show other servers; areas keep their places when only states changed."""
        self._groups = tuple(groups)
        if self._zoomed not in {g.name for g in groups}:
            self._zoom_to("")
        self._lay_out()
        self._tell()
        total = sum(g.tokens for g in groups)
        self.setAccessibleDescription(
            f"{plural(len(groups), 'server')}, {count(total)} tokens; the tree above has the same"
        )

    def select(self, tool_id: int) -> None:
        """Outline a tool, 0 for none; emits nothing."""
        self._selected = tool_id
        self._tell()
        self.update()

    def zoom(self, server: str) -> None:
        """Show one server, "" for all."""
        self._zoom_to(server)
        self._lay_out()
        self._tell()

    @property
    def server_here(self) -> str:
        """The server under the mouse, else that of the selected tool, else ""."""
        cell = self._hovered or self._selected_cell
        return cell.group.name if cell else ""

    def picture(self, ratio: float) -> QPixmap:
        """The map without selection and hover, at so many device pixels a pixel."""
        return self._draw(ratio)

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
            self._picture = self._draw(self.devicePixelRatioF())
        painter = QPainter(self)
        painter.drawPixmap(0, 0, self._picture)
        colors = self._theme.colors
        if self._hovered is not None:
            painter.setPen(QPen(colors.text, 1))
            painter.drawRect(_rect(self._hovered.box).adjusted(0.5, 0.5, -1.5, -1.5))
        cell = self._selected_cell
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
            self._tell()
            self.update()

    def leaveEvent(self, event: QEvent) -> None:
        """No outline without a mouse."""
        super().leaveEvent(event)
        self._hovered = None
        self._tell()
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
                QToolTip.showText(event.globalPos(), plain_tip(describe(cell)), self)
            elif field is not None:
                text = f"{field.group.name}: {count(field.group.tokens)} tokens {APPROX}"
                QToolTip.showText(event.globalPos(), plain_tip(text), self)
            return True
        return super().event(event)

    @property
    def _selected_cell(self) -> Cell | None:
        return self.cell_of(self._selected) if self._selected else None

    def _tell(self) -> None:
        """Say what is pointed at: by the mouse, else by the selection."""
        if self._hovered is not None:
            self.pointed.emit(describe(self._hovered))
            return
        cell = self._selected_cell
        chosen = next((i for i in cell.items if i.id == self._selected), None) if cell else None
        self.pointed.emit(describe_item(chosen, cell.group) if cell and chosen else "")

    def _zoom_to(self, server: str) -> None:
        if server != self._zoomed:
            self._zoomed = server
            self.zoom_changed.emit(server)

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
        cells = (c for c in self._all() if c.box.contains(point.x(), point.y()))
        return next(cells, None)

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

    def _draw(self, ratio: float) -> QPixmap:
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
        start = len(field.group.prefix)
        for cell in field.cells:
            self._draw_cell(painter, cell, tint=tint, small=small, start=start)
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

    def _draw_cell(
        self, painter: QPainter, cell: Cell, *, tint: object, small: QFont, start: int
    ) -> None:
        colors = self._theme.colors
        area = _rect(cell.box).adjusted(0, 0, -1, -1)
        on = any(item.on and not item.held for item in cell.items)
        painter.fillRect(area, tint if on else colors.base)
        if not on:
            hatch(painter, area, colors)
        if any(item.held for item in cell.items) and area.width() > 6:
            painter.setPen(QPen(colors.block.ink, 2))
            painter.drawRect(area.adjusted(2, 2, -2, -2))
        if area.width() > _LABEL_WIDTH and area.height() > _LABEL_HEIGHT:
            painter.setFont(small)
            item, metrics = cell.items[0], QFontMetrics(small)
            name = item.name[start:] if len(cell.items) == 1 else f"+{len(cell.items)} small"
            words = area.adjusted(4, 2, -3, -2)
            text = metrics.elidedText(name, Qt.TextElideMode.ElideRight, int(words.width()))
            if not on:  # hatching behind letters cannot be read
                behind = QRectF(words.left() - 2, words.top(), 0, metrics.height())
                behind.setWidth(metrics.horizontalAdvance(text) + 4)
                painter.fillRect(behind, colors.base)
            painter.setPen(colors.text if on else colors.text2)
            painter.drawText(words, Qt.AlignmentFlag.AlignTop, text)


def describe(cell: Cell) -> str:
    """Tooltip of a cell."""
    if len(cell.items) > 1:
        total = sum(item.tokens for item in cell.items)
        return f"{len(cell.items)} small tools of {cell.group.name}: {count(total)} tokens {APPROX}"
    return describe_item(cell.items[0], cell.group)


def describe_item(item: Item, group: Group) -> str:
    """`github/search_code: 1,412 tokens ≈, on`."""
    state = "held back" if item.held else "on" if item.on else "off"
    return f"{group.name}/{item.name}: {count(item.tokens)} tokens {APPROX}, {state}"


def _rect(box: Box) -> QRectF:
    return QRectF(round(box.x), round(box.y), _span(box.x, box.width), _span(box.y, box.height))


def _span(start: float, length: float) -> int:
    """Whole pixels, so that neighbours neither overlap nor leave gaps."""
    return round(start + length) - round(start)
