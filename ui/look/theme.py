"""The look: own palette, one small stylesheet, icons; light and dark, changed while running."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TypeVar

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QPalette
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QHeaderView,
    QLabel,
    QStyleFactory,
    QWidget,
)

from app.core.safe_write import write_file
from store.files import private_folder
from ui.look.colors import DARK, LIGHT, Colors, mix
from ui.look.icons import Icons, svg_text

SYSTEM, LIGHT_ONLY, DARK_ONLY = "system", "light", "dark"
LEAST_ZOOM, MOST_ZOOM, ZOOM_STEP = 80, 200, 10  # per cent
_NORMAL = QFont.Weight.Normal
_DRESS = "dress"  # the property of widgets with a font of their own: step and weight, or nothing
_ICON = "themeIcon"  # the property of widgets with an icon: its name, its role, its size

# Metrics, pixels
ROW, BUTTON, STRIP, SIDE_ROW, STATUS = 28, 30, 46, 36, 32
GAP, MARGIN, CARD, GROUP = 8, 12, 16, 24
DENSE = 4  # that a compact row is lower
SIGNS = (5, 12, 14, 16, 18, 22)  # px of the stylesheet's ticks, arrows and icons, at 100 %

# Images that the stylesheet names; each is an icon in a colour of the theme
_IMAGES = {
    "down": ("chevron-down", "text2"),
    "up": ("chevron-up", "text2"),
    "right": ("chevron-right", "text2"),
    "check": ("check", "on_accent"),
    "some": ("minus", "on_accent"),
}

W = TypeVar("W", bound=QWidget)
S = TypeVar("S", bound=QAbstractButton | QLabel)


class Theme(QObject):
    """The colours and the text size in use.

    Signals: changed() after the application was given others.
    """

    changed = Signal()

    def __init__(
        self,
        app: QApplication,
        cache: Path,
        appearance: str = SYSTEM,
        *,
        zoom: int = 100,
        dense: bool = False,
    ) -> None:
        super().__init__(app)
        self._app = app
        self._cache = cache  # where the stylesheet's images are written
        self._appearance = appearance
        self._size = _points(QFontDatabase.SystemFont.GeneralFont)
        self.zoom = 100  # per cent of the system's text size
        self.dense = dense  # whether rows of tables are low
        self.colors: Colors = LIGHT
        self.icons = Icons(LIGHT)
        app.setStyle(QStyleFactory.create("Fusion"))
        app.styleHints().colorSchemeChanged.connect(self._follow_system)
        self._scale(min(MOST_ZOOM, max(LEAST_ZOOM, zoom)))
        self._show(self._wanted())

    @property
    def appearance(self) -> str:
        """The user's choice: system, light or dark."""
        return self._appearance

    def choose(self, appearance: str) -> None:
        """Change to system, light or dark."""
        self._appearance = appearance
        self._change()

    def set_dense(self, dense: bool) -> None:
        """Make the rows of all tables lower, or as high as usual."""
        if dense != self.dense:
            self.dense = dense
            self.changed.emit()

    def row(self, usual: int, text: int) -> int:
        """Height of a row in pixels, from the usual height and the height of its text."""
        less = DENSE if self.dense else 0
        return max(usual, text + 10) - less

    def set_zoom(self, percent: int) -> None:
        """Make all text larger or smaller, from 80 to 200 per cent of the system's."""
        if percent != self.zoom and LEAST_ZOOM <= percent <= MOST_ZOOM:
            before = self.zoom
            self._scale(percent)
            self._show(self.colors)
            for widget in self._app.allWidgets():
                if isinstance(widget, QHeaderView):
                    self.widen(widget, before)
            self.changed.emit()

    def widen(self, header: QHeaderView, before: int) -> None:
        """Let columns keep up with text that was at another zoom; those that stretch do already."""
        share = max(100, self.zoom) / max(100, before)
        for section in range(header.count()):
            if header.sectionResizeMode(section) == QHeaderView.ResizeMode.Interactive:
                hidden = header.isSectionHidden(section)
                header.setSectionHidden(section, False)  # a hidden one has a width of 0
                header.resizeSection(section, round(header.sectionSize(section) * share))
                header.setSectionHidden(section, hidden)

    def scaled(self, pixels: int) -> int:
        """A width or height that holds text, at the text size in use; never below 100 %."""
        return round(pixels * max(100, self.zoom) / 100)

    def dress(self, widget: QWidget, step: int = 0, weight: QFont.Weight = _NORMAL) -> None:
        """Give a widget a font of its own that follows the text size."""
        widget.setProperty(_DRESS, [step, weight.value])
        widget.setFont(self.font(step, weight))

    def heading(self, widget: W, step: int = 0) -> W:
        """Return a widget whose text is heavier, and `step` points larger."""
        self.dress(widget, step, QFont.Weight.DemiBold)
        return widget

    def dress_fixed(self, widget: QWidget) -> None:
        """Give a widget the font of code, following the text size."""
        widget.setProperty(_DRESS, [])
        widget.setFont(self.fixed())

    def put_icon(self, widget: S, name: str, role: str = "text2", size: int = 16) -> S:
        """Return a widget with an icon in the theme's colours; a label's has `size` px at 100 %."""
        widget.setProperty(_ICON, [name, role, size])
        self._draw_icon(widget, name, role, size)
        return widget

    def _draw_icon(self, widget: QWidget, name: str, role: str, size: int) -> None:
        icons = self.icons
        if isinstance(widget, QAbstractButton):
            widget.setIcon(icons.icon(name, role))
        elif isinstance(widget, QLabel):
            pixels, ratio = self.scaled(size), widget.devicePixelRatioF()
            widget.setPixmap(icons.pixmap(name, icons.ink(role), pixels, ratio))

    def fixed(self) -> QFont:
        """The font of code."""
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        font.setPointSizeF(_points(QFontDatabase.SystemFont.FixedFont) * self.zoom / 100)
        return font

    def font(self, step: int = 0, weight: QFont.Weight = _NORMAL) -> QFont:
        """The interface font, `step` points larger or smaller, with tabular figures."""
        font = QFont(self._app.font())
        font.setPointSizeF(max(6.0, font.pointSizeF() + step))
        font.setWeight(weight)
        font.setFeature(QFont.Tag("tnum"), 1)
        return font

    def _dressed(self, dress: Sequence[int]) -> QFont:
        return self.font(dress[0], QFont.Weight(dress[1])) if dress else self.fixed()

    def _scale(self, percent: int) -> None:
        self.zoom = percent
        font = QFont(self._app.font())
        font.setPointSizeF(self._size * percent / 100)
        self._app.setFont(font)

    def _follow_system(self) -> None:
        if self._appearance == SYSTEM:
            self._change()

    def _change(self) -> None:
        colors = self._wanted()
        if colors is not self.colors:
            self._show(colors)
            self.changed.emit()

    def _wanted(self) -> Colors:
        if self._appearance == SYSTEM:
            dark = self._app.styleHints().colorScheme() == Qt.ColorScheme.Dark
        else:
            dark = self._appearance == DARK_ONLY
        return DARK if dark else LIGHT

    def _show(self, colors: Colors) -> None:
        self.colors = colors
        self.icons = Icons(colors, self.scaled(100) / 100)
        # without the first step every widget is polished twice: 360 ms instead of 147 for 413
        self._app.setStyleSheet("")
        self._app.setPalette(palette(colors))
        self._app.setStyleSheet(stylesheet(colors, self._images(colors), self.scaled))
        for widget in self._app.allWidgets():  # a new sheet takes a late font of their own away
            dress = widget.property(_DRESS)
            if dress is not None:
                widget.setFont(self._dressed(dress))
            icon = widget.property(_ICON)
            if icon is not None:
                self._draw_icon(widget, *icon)

    def _images(self, colors: Colors) -> Path:
        folder = self._cache / ("dark" if colors.dark else "light")
        private_folder(folder)
        for name, (icon, role) in _IMAGES.items():
            ink = colors.accent.on_solid if role == "on_accent" else colors.text2
            _keep(folder / f"{name}.svg", svg_text(icon, ink).encode())
        return folder


def set_look(widget: QWidget, look: str, on: bool) -> None:
    """Give a widget one of the stylesheet's looks, as primary or wrong, or take it away."""
    if bool(widget.property(look)) != on:
        widget.setProperty(look, on)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def _keep(file: Path, data: bytes) -> None:
    """The picture, written where it is not there as it should be."""
    with suppress(OSError):  # on a full disk a box has no tick, and the window opens all the same
        if not file.is_file() or file.read_bytes() != data:
            write_file(file, data)


def _points(which: QFontDatabase.SystemFont) -> float:
    """A system font's size in points, also where the system gives pixels."""
    return QFontInfo(QFontDatabase.systemFont(which)).pointSizeF()


def stylesheet(colors: Colors, images: Path, scaled: Callable[[int], int]) -> str:
    """The stylesheet in those colours, naming images of that folder; signs are as large as text."""
    template = (files("resources") / "styles" / "app.qss").read_text(encoding="utf-8")
    signs = {f"px{size}": f"{scaled(size)}px" for size in SIGNS}
    # a stylesheet's least height counts before the text's: larger letters would be cut
    signs["line"] = f"{max(20, scaled(16))}px"
    signs["round"] = f"{scaled(14) // 2 + 1}px"  # one more than half, and Qt draws a square
    signs["dot"] = f"{scaled(14) + 2 - 2 * scaled(5)}px"  # as wide with its ring as one not chosen
    signs["inside"] = f"{scaled(14) - 4}px"  # of a handle with a wider ring: as large as without
    signs["beyond"] = f"{scaled(14) // 2 - 1}px"  # a round handle's, above and below its groove
    signs["slider"] = f"{scaled(14) + 8}px"
    return Template(template).substitute(_words(colors) | signs, images=images.as_posix())


def palette(colors: Colors) -> QPalette:
    """The palette in those colours."""
    role, group = QPalette.ColorRole, QPalette.ColorGroup
    made = QPalette()
    for which, color in {
        role.Window: colors.window,
        role.WindowText: colors.text,
        role.Base: colors.base,
        role.AlternateBase: colors.alternate,
        role.Text: colors.text,
        role.Button: colors.raised,
        role.ButtonText: colors.text,
        role.Highlight: colors.selection,
        role.HighlightedText: colors.text,
        role.PlaceholderText: colors.text2,
        role.ToolTipBase: colors.raised,
        role.ToolTipText: colors.text,
        role.Link: colors.accent.ink,
        role.LinkVisited: colors.accent.ink,
        role.Mid: colors.hairline,
        role.Light: colors.raised,
        role.Dark: colors.border,
        role.Accent: colors.accent.ink,
    }.items():
        made.setColor(which, color)
    faint = mix(colors.text2, colors.window, 0.6)
    for which in (role.WindowText, role.Text, role.ButtonText):
        made.setColor(group.Disabled, which, faint)
    return made


def _words(colors: Colors) -> dict[str, str]:
    plain: dict[str, QColor] = {
        "window": colors.window,
        "base": colors.base,
        "raised": colors.raised,
        "selection": colors.selection,
        "text": colors.text,
        "text2": colors.text2,
        "border": colors.border,
        "hairline": colors.hairline,
        "accent": colors.accent.ink,
        "accent_tint": colors.accent.tint,
        "on_accent": colors.accent.on_solid,
        "accent_hover": mix(colors.accent.ink, colors.text, 0.85),
        "hover": mix(colors.text, colors.raised, 0.06),
        "pressed": mix(colors.text, colors.raised, 0.12),
        "track": colors.track,
        "disabled": mix(colors.text2, colors.window, 0.6),
        "block": colors.block.ink,
        "block_tint": colors.block.tint,
        "warn_tint": colors.warn.tint,
        "passed_tint": colors.passed.tint,
        "grip": mix(colors.text2, colors.window, 0.45),
    }
    return {name: color.name() for name, color in plain.items()}
