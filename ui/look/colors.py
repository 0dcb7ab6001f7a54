"""The two colour sets; contrast of every pair was computed (tests/ui/test_colors.py)."""

from dataclasses import dataclass

from PySide6.QtGui import QColor


@dataclass(frozen=True, slots=True)
class Tone:
    """A state's colours: ink on its own tint; solid pills turn them round."""

    ink: QColor
    tint: QColor
    on_solid: QColor  # text on a pill filled with ink


@dataclass(frozen=True, slots=True)
class Colors:
    """Every colour that the window uses."""

    dark: bool
    window: QColor
    base: QColor
    alternate: QColor
    raised: QColor
    selection: QColor
    text: QColor
    text2: QColor
    border: QColor  # of controls
    hairline: QColor
    accent: Tone
    passed: Tone
    warn: Tone
    block: Tone
    neutral: Tone
    bar: QColor
    track: QColor
    unused: QColor
    diff_add: QColor
    diff_add_word: QColor
    diff_remove: QColor
    diff_remove_word: QColor
    servers: tuple[QColor, ...]  # in order of size; the last is for all further ones
    cell_mix: float  # share of the server's colour in a treemap cell

    def tone(self, name: str) -> Tone:
        """The tone called accent, passed, warn, block or neutral."""
        return {
            "accent": self.accent,
            "passed": self.passed,
            "warn": self.warn,
            "block": self.block,
        }.get(name, self.neutral)

    def server(self, place: int) -> QColor:
        """The colour of the server at that place in the order of size."""
        return self.servers[min(place, len(self.servers) - 1)]

    def cell(self, server: QColor) -> QColor:
        """The treemap cell's tint of a server's colour."""
        return mix(server, self.base, self.cell_mix)


def mix(over: QColor, under: QColor, share: float) -> QColor:
    """`share` of the first colour in the second."""
    rest = 1.0 - share
    return QColor(
        round(over.red() * share + under.red() * rest),
        round(over.green() * share + under.green() * rest),
        round(over.blue() * share + under.blue() * rest),
    )


def contrast(one: QColor, two: QColor) -> float:
    """The WCAG contrast ratio, 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def text_on(background: QColor) -> QColor:
    """Near black or white, whichever reads better on that colour."""
    black, white = QColor("#0E1114"), QColor("#FFFFFF")
    return black if contrast(black, background) >= contrast(white, background) else white


def _luminance(color: QColor) -> float:
    parts = (color.redF(), color.greenF(), color.blueF())
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _tone(ink: str, tint: str, on_solid: str) -> Tone:
    return Tone(QColor(ink), QColor(tint), QColor(on_solid))


# Okabe-Ito in this order, grey for all servers from the eighth on
_SERVERS = tuple(
    QColor(name)
    for name in (
        "#0072B2",
        "#E69F00",
        "#009E73",
        "#CC79A7",
        "#56B4E9",
        "#D55E00",
        "#F0E442",
        "#9AA1AA",
    )
)

LIGHT = Colors(
    dark=False,
    window=QColor("#F3F4F6"),
    base=QColor("#FFFFFF"),
    alternate=QColor("#F7F8FA"),
    raised=QColor("#FFFFFF"),
    selection=QColor("#D6E8F8"),
    text=QColor("#1B1F24"),
    text2=QColor("#545C66"),
    border=QColor("#7E8791"),
    hairline=QColor("#D5D9DF"),
    accent=_tone("#1D4FB0", "#DDE9FB", "#FFFFFF"),
    passed=_tone("#087060", "#DAF2EC", "#FFFFFF"),
    warn=_tone("#7D5A00", "#FBEFCB", "#FFFFFF"),
    block=_tone("#8F1038", "#FBDFE6", "#FFFFFF"),
    neutral=_tone("#545C66", "#E8EAED", "#FFFFFF"),
    bar=QColor("#0072B2"),
    track=QColor("#E8EAED"),
    unused=QColor("#D55E00"),
    diff_add=QColor("#DAF2EC"),
    diff_add_word=QColor("#A9E2D3"),
    diff_remove=QColor("#FBDFE6"),
    diff_remove_word=QColor("#F5B5C5"),
    servers=_SERVERS,
    cell_mix=0.42,
)

DARK = Colors(
    dark=True,
    window=QColor("#1B1E23"),
    base=QColor("#14171B"),
    alternate=QColor("#191C21"),
    raised=QColor("#23272E"),
    selection=QColor("#1F3B54"),
    text=QColor("#E6E9ED"),
    text2=QColor("#A7AFB9"),
    border=QColor("#79828D"),
    hairline=QColor("#343A42"),
    accent=_tone("#8AB4F8", "#152C4E", "#0E1114"),
    passed=_tone("#5FE0BF", "#11352E", "#0E1114"),
    warn=_tone("#F5B83D", "#3A2D0E", "#0E1114"),
    block=_tone("#FF7A85", "#47192B", "#0E1114"),
    neutral=_tone("#A7AFB9", "#2A2F36", "#0E1114"),
    bar=QColor("#4DA3E0"),
    track=QColor("#2A2F36"),
    unused=QColor("#FF9466"),
    diff_add=QColor("#11352E"),
    diff_add_word=QColor("#1D5C4E"),
    diff_remove=QColor("#47192B"),
    diff_remove_word=QColor("#7A2A46"),
    servers=_SERVERS,
    cell_mix=0.38,
)
