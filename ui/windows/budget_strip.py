"""The strip under the toolbar: what the model of the host in view gets now, against the budget."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFont,
    QFontMetrics,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolTip, QWidget

from app.catalog.catalog import CatalogTool
from app.core.text import plural
from app.policy.budget import PASS, Budget, Verdict
from store.records import AS_IS
from ui.look.colors import text_on
from ui.look.text import APPROX, count, in_menu, plain_tip, short
from ui.look.theme import GAP, MARGIN, STRIP, Theme
from ui.shell.badges import BADGES
from ui.shell.host_in_view import EVERY, WORST, HostInView
from ui.shell.host_names import MODE_NAMES
from ui.shell.live_catalog import LiveCatalog
from ui.widgets.badge import Badge
from ui.widgets.boxes import hbox
from ui.widgets.elided import ElidedLabel
from ui.widgets.label import PlainLabel
from ui.widgets.push_button import push_button
from ui.widgets.shares import Share, host_shares, server_shares

_NAME_WIDTH, _HOST_WIDTH = 88, 120  # pixels of a profile's and of a host's name on its button
_HOST_TIPS = {
    True: "What this host's model gets of tool definitions at its first request. Badge and"
    " proposals follow it; by default it is the host that is worst off, on Hosts the one whose"
    " page is read.",
    False: "Sum over all servers. No single model gets all of them.",
}
_PROFILE_TIP = (
    "{} is in view: which tools are on, its budget and settings. A host gets the profile that was"
    " in view when its config was written."
)


class BudgetStrip(QWidget):
    """The profile in view, total, number of tools, verdict and the bar by server.

    Signals: server_chosen(server name) when a segment is clicked or entered by key.
    """

    server_chosen = Signal(str)

    def __init__(self, theme: Theme, live: LiveCatalog, hosts: HostInView) -> None:
        super().__init__()
        self.setObjectName("budgetBar")
        self._live = live
        # of all servers; settings change without them
        self._every: tuple[Sequence[CatalogTool], tuple[Share, ...]] = ((), ())
        self._hosts = hosts
        self._theme = theme
        self.profile = push_button(name="profileButton", parent=self)
        self.host = push_button(name="hostInView", parent=self)
        self._menu = QMenu(self.host)
        self._menu.aboutToShow.connect(self._fill_menu)
        self.host.setMenu(self._menu)
        self.total = theme.heading(PlainLabel(parent=self, name="budgetTotal"), 3)
        self.on = ElidedLabel(parent=self, look="faint")
        self.badge = Badge(theme, BADGES[PASS], self)
        self.bar = BudgetBar(theme, self)
        self.bar.chosen.connect(self.server_chosen)
        hbox(
            self.profile,
            self.host,
            self.total,
            self.on,
            self.badge,
            (self.bar, 1),
            inside=self,
            margins=(MARGIN, 0, MARGIN, 0),
        )
        theme.changed.connect(self.show_now)
        hosts.changed.connect(self.show_now)
        self.show_now()

    @property
    def verdict(self) -> Verdict:
        """The verdict on the host in view."""
        return self._hosts.verdict

    def show_now(self) -> None:
        """Take the numbers from the catalogue."""
        catalog, verdict = self._live.catalog, self.verdict
        self.setFixedHeight(STRIP // 2 + self._theme.scaled(STRIP // 2))
        encoding = catalog.encoding if catalog else ""
        profile = self._live.profile
        room = self._theme.scaled(_NAME_WIDTH)
        cut = self.profile.fontMetrics().elidedText(profile, Qt.TextElideMode.ElideRight, room)
        self.profile.setText(f"Profile: {in_menu(cut)}")
        # one profile is no choice; View and the palette make others
        self.profile.setVisible(len(self._live.profiles) > 1)
        self.profile.setAccessibleName(f"Profile: {profile}")
        self.profile.setToolTip(plain_tip(_PROFILE_TIP.format(profile)))
        self._show_host()
        unread, partial = self._hosts.unread, self._hosts.partial
        so_far = " so far" if partial else ""
        self.total.setText(unread or f"{count(verdict.tokens)} tokens {APPROX}{so_far}")
        self.total.setToolTip(
            plain_tip(
                "Size of the tool definitions as a model receives them, counted with"
                f" {encoding} over name, description and input schema."
                f" Models with another tokenizer get other numbers.{self._later_text()}"
            )
        )
        self.on.setText(self._tools_text())
        self.badge.show_badge(BADGES[verdict.word])
        self.badge.setVisible(not unread and not partial)
        self.badge.setToolTip(plain_tip(" ".join(verdict.reasons) or "Within the budget."))
        self.bar.show_shares(self._shares(), verdict.budget)
        word = "not all counted yet" if partial else verdict.word
        numbers = f"{count(verdict.tokens)} tokens{so_far}, {self._tools_text()}, {word}"
        self.setAccessibleName(
            f"Budget: {unread}" if unread else f"Budget of {self._host_name()}: {numbers}"
        )

    def _host_name(self) -> str:
        size = self._hosts.size
        return size.host if size else "all servers"

    def _show_host(self) -> None:
        name = self._host_name()
        room = self._theme.scaled(_HOST_WIDTH)
        cut = self.host.fontMetrics().elidedText(name, Qt.TextElideMode.ElideRight, room)
        self.host.setText(in_menu(cut[:1].upper() + cut[1:]))
        self.host.setAccessibleName(f"Host in view: {name}")
        size = self._hosts.size
        self.host.setToolTip(plain_tip(_HOST_TIPS[size is not None]))

    def _tools_text(self) -> str:
        """Number of tools that the number is about, and the host's way with them."""
        size, catalog = self._hosts.size, self._live.catalog
        if self._hosts.unread:
            return ""
        if size is None:
            every = sum(not t.tool.gone for t in catalog.tools) if catalog else 0
            return f"{count(self.verdict.tools)} of {plural(every, 'tool')} on"
        mode = MODE_NAMES[size.mode]
        way = mode[0].lower() + mode[1:] + (", loaded on demand" if size.sent.later else "")
        why = size.verdict.why_tools.rstrip(".")
        text = f"{way}: {why}" if why else f"{plural(size.sent.count, 'tool')}, {way}"
        if size.unread:
            text += f" · {plural(len(size.unread), 'server')} not read"
        if self._hosts.saving:
            return f"{text} · {count(self._hosts.saving)} {APPROX} saved"
        less = size.verdict.tokens - size.once_written
        if size.mode == AS_IS and less > 0:
            text += f" · pruned saves {count(less)} {APPROX}"
        return text

    def _later_text(self) -> str:
        size = self._hosts.size
        if size is None or not size.sent.later:
            return ""
        return (
            f" {size.host} sends names at first and loads the other {count(size.sent.later)} tokens"
            " on demand."
        )

    def _shares(self) -> tuple[Share, ...]:
        catalog, size = self._live.catalog, self._hosts.size
        if catalog is None:
            return ()
        places = self._live.places
        if size is None:
            if self._every[0] is not catalog.tools:
                self._every = (catalog.tools, server_shares(catalog, places))
            return self._every[1]
        rows = (*size.sent.tools, *(row for _name, row in size.sent.again))
        return host_shares(catalog, rows, size.sent.tokens, places)

    def _fill_menu(self) -> None:
        """The hosts with their numbers, the worst by default, and the sum over all servers."""
        hosts, menu = self._hosts, self._menu
        menu.clear()
        choices = [(WORST, "The host over budget the most")]
        choices += [
            (size.facts.id, f"{in_menu(size.host)}: {count(size.verdict.tokens)} {APPROX}")
            for size in hosts.sizes
        ]
        choices.append((EVERY, "Servers of all hosts together"))
        for choice, text in choices:
            action = menu.addAction(text)
            action.setCheckable(True)
            action.setChecked(hosts.choice == choice)
            action.triggered.connect(lambda _checked=False, c=choice: hosts.choose(c))


class BudgetBar(QWidget):
    """One stacked bar: a segment per server, lines where WARN and BLOCK begin.

    Signals: chosen(server name).
    """

    chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Tokens by server")
        self._theme = theme
        self._shares: tuple[Share, ...] = ()
        self._budget = Budget()
        self._at = -1  # segment under the keyboard

    def show_shares(self, shares: tuple[Share, ...], budget: Budget) -> None:
        """Show other numbers."""
        self._shares, self._budget = shares, budget
        self._at = min(self._at, len(shares) - 1)
        self.setAccessibleDescription(
            ", ".join(f"{s.server} {count(s.shown)}" for s in shares if s.shown)
        )
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """As much as there is."""
        return QSize(400, STRIP)

    def minimumSizeHint(self) -> QSize:
        """Its words for the budget still fit."""
        words = f"Budget {short(self._budget.block_over)}"
        return QSize(max(80, self._label_width(words) + 2 * GAP), STRIP)

    def segments(self) -> list[tuple[Share, QRectF]]:
        """Area of each server's segment."""
        track, scale = self._track(), self._scale()
        areas, left = [], track.left()
        for share in self._shares:
            width = track.width() * share.shown / scale
            if share.shown:
                areas.append((share, QRectF(left, track.top(), width, track.height())))
            left += width
        return areas

    def line_x(self, tokens: int) -> float:
        """Position of that number of tokens, in pixels."""
        track = self._track()
        return track.left() + track.width() * min(1.0, tokens / self._scale())

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw track, segments and lines."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.colors.track)
        painter.drawRoundedRect(self._track(), 3, 3)
        font = self._theme.font(-1, QFont.Weight.DemiBold)
        for number, (share, area) in enumerate(self.segments()):
            self._paint_segment(painter, share, area=area, font=font)
            if number == self._at and self.hasFocus():
                painter.setPen(QPen(self._theme.colors.text, 2))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(area.adjusted(1, 1, -1, -1))
        self._paint_lines(painter)
        if self.hasFocus():
            painter.setPen(QPen(self._theme.colors.accent.ink, 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 5, 5)
        painter.end()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows go from server to server, Enter chooses one."""
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        areas = self.segments()
        if step and areas:
            self._at = min(len(areas) - 1, max(0, self._at + step))
            share = areas[self._at][0]
            self.setAccessibleName(f"Tokens by server: {share.server} {count(share.shown)}")
            self.update()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and 0 <= self._at < len(areas):
            self.chosen.emit(areas[self._at][0].server)
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click chooses the server."""
        share = self._share_at(event.position())
        if share is not None:
            self.chosen.emit(share.server)

    def event(self, event: QEvent) -> bool:
        """The tooltip names the server under the mouse."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            share = self._share_at(QPointF(event.pos()))
            if share is not None:
                text = f"{share.server}: {count(share.shown)} tokens {APPROX} on"
                QToolTip.showText(event.globalPos(), plain_tip(text), self)
                return True
        return super().event(event)

    def _share_at(self, point: QPointF) -> Share | None:
        return next((s for s, area in self.segments() if area.contains(point)), None)

    def _track(self) -> QRectF:
        return QRectF(4, self.height() / 2 + 1, self.width() - 8, self._theme.scaled(16))

    def _scale(self) -> float:
        """Tokens at the right end: everything that could be on, or a little over the budget."""
        every = sum(share.shown for share in self._shares)
        return max(1.0, every * 1.06, self._budget.block_over * 1.2)

    def _paint_segment(self, painter: QPainter, share: Share, *, area: QRectF, font: QFont) -> None:
        color = self._theme.colors.server(share.place)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        gap = 1.0 if area.width() > 3 else 0.0
        painter.drawRect(area.adjusted(0, 0, -gap, 0))
        for text in (f"{share.server} {short(share.shown)}", share.server):
            if QFontMetrics(font).horizontalAdvance(text) + 10 <= area.width():
                painter.setFont(font)
                painter.setPen(text_on(color))
                words = area.adjusted(5, 0, -3, 0)
                painter.drawText(words, Qt.AlignmentFlag.AlignVCenter, text)
                return

    def _label_font(self) -> QFont:
        return self._theme.font(-2, QFont.Weight.DemiBold)

    def _label_width(self, text: str) -> int:
        return QFontMetrics(self._label_font()).horizontalAdvance(text)

    def _paint_lines(self, painter: QPainter) -> None:
        track, budget, colors = self._track(), self._budget, self._theme.colors
        painter.setFont(self._label_font())
        wide = self._label_width
        warn = (self.line_x(budget.warn_from), f"Warn {short(budget.warn_from)}")
        block = (self.line_x(budget.block_over), f"Budget {short(budget.block_over)}")
        for (x, text), style in ((warn, Qt.PenStyle.DashLine), (block, Qt.PenStyle.SolidLine)):
            painter.setPen(QPen(colors.text, 2 if text is block[1] else 1, style))
            painter.drawLine(QPointF(x, track.top() - 4), QPointF(x, track.bottom() + 4))
        painter.setPen(colors.text2)
        base = track.top() - 6
        right = min(block[0] - 2, self.width() - wide(block[1]) - 2)
        painter.drawText(QPointF(max(2.0, right), base), block[1])
        left = warn[0] - wide(warn[1]) + 2
        if left >= 2 and left + wide(warn[1]) + 6 < right:
            painter.drawText(QPointF(left, base), warn[1])
