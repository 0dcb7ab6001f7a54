"""Icons: one family of SVG files, drawn in the colours of the theme."""

from functools import cache
from importlib.resources import files

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from ui.look.colors import Colors

# The sizes drawn, in pixels at 100 % text: 16 in rows and 20 in toolbars, each also at twice the
# resolution
_SIZES = (16, 20, 32, 40)


class Icons:
    """Draws and keeps the icons of one colour set at one text size; a change makes a new one."""

    def __init__(self, colors: Colors, scale: float = 1.0) -> None:
        self._colors = colors
        self._sizes = tuple(round(size * scale) for size in _SIZES)
        self._icons: dict[tuple[str, str], QIcon] = {}
        self._pixmaps: dict[tuple[str, int, int, float], QPixmap] = {}

    def icon(self, name: str, role: str = "text2") -> QIcon:
        """The icon in a role: text2, text, on_accent, or a tone (accent, passed, warn, block)."""
        key = (name, role)
        if key not in self._icons:
            icon = QIcon()
            for size in self._sizes:
                icon.addPixmap(self.pixmap(name, self.ink(role), size))
                # without it Qt fades the icon of a selected row
                icon.addPixmap(self.pixmap(name, self.ink(role), size), QIcon.Mode.Selected)
                faint = self.pixmap(name, self._colors.hairline, size)
                icon.addPixmap(faint, QIcon.Mode.Disabled)
            self._icons[key] = icon
        return self._icons[key]

    def pixmap(self, name: str, color: QColor, size: int, ratio: float = 1.0) -> QPixmap:
        """The icon in a colour, `size` logical pixels wide."""
        key = (name, color.rgb(), size, ratio)
        if key not in self._pixmaps:
            self._pixmaps[key] = draw_svg(svg_text(name, color), QSize(size, size), ratio)
        return self._pixmaps[key]

    def ink(self, role: str) -> QColor:
        """The colour of a role."""
        if role == "text2":
            return self._colors.text2
        if role == "text":
            return self._colors.text
        if role == "on_accent":
            return self._colors.accent.on_solid
        return self._colors.tone(role).ink


def svg_text(name: str, color: QColor) -> str:
    """The SVG file of that icon, filled with a colour."""
    return _source(name).replace("<path ", f'<path fill="{color.name()}" ')


def app_icon() -> QIcon:
    """Toolcrib's own icon."""
    icon = QIcon()
    for size in (16, 32, 48, 64, 128, 256):
        icon.addPixmap(draw_svg(_source("toolcrib"), QSize(size, size), 1.0))
    return icon


def draw_svg(text: str, size: QSize, ratio: float) -> QPixmap:
    """A transparent picture of an SVG text."""
    pixmap = QPixmap(size * ratio)
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    QSvgRenderer(QByteArray(text.encode())).render(
        painter, QRectF(0, 0, size.width(), size.height())
    )
    painter.end()
    return pixmap


@cache
def _source(name: str) -> str:
    return (files("resources") / "icons" / f"{name}.svg").read_text(encoding="utf-8")
