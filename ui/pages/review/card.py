"""One tool under review: what was found, what that means, the evidence, the decisions."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QColor, QFont, QPaintEvent, QTextBlockFormat, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QFrame, QPushButton, QSizePolicy, QTextEdit, QWidget

from app.safety.review import APPROVED, KEPT, OFF, OPEN, ReviewItem
from ui.look.text import plain_tip, visible
from ui.look.theme import CARD, GAP, Theme
from ui.pages.review.evidence import FOUND, HEAD, NOTE, EvidenceLine, evidence
from ui.pages.review.rows import item_badge
from ui.shell.badges import badge
from ui.widgets.badge import Badge
from ui.widgets.boxes import hbox, vbox
from ui.widgets.diff_rows import ADDED, REMOVED, SAME
from ui.widgets.flow import Flow
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button

_SIGNS = {ADDED: "+ ", REMOVED: "- ", SAME: "  "}


class EvidenceView(QTextEdit):
    """Shows evidence; nothing in it can be clicked.

    Signals: seen() once the lines shown were painted to their end.
    """

    seen = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        named(self, "Evidence", name="evidence")
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._theme = theme
        self._lines: Sequence[EvidenceLine] = ()
        self._unseen = False
        theme.changed.connect(self._fill)

    def show_lines(self, lines: Sequence[EvidenceLine]) -> None:
        """Show these from the top."""
        self._lines, self._unseen = lines, True
        self._fill()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Tell when the last of the lines was on the screen."""
        super().paintEvent(event)
        bar = self.verticalScrollBar()
        if self._unseen and bar.value() >= bar.maximum():
            self._unseen = False
            self.seen.emit()

    def _fill(self) -> None:
        self.clear()
        cursor = self.textCursor()
        for number, line in enumerate(self._lines):
            block, font = self._forms(line, first=number == 0)
            if number:
                cursor.insertBlock(block, font)
            else:
                cursor.setBlockFormat(block)
            self._write(cursor, line, font)
        self.moveCursor(QTextCursor.MoveOperation.Start)

    def _forms(
        self, line: EvidenceLine, *, first: bool
    ) -> tuple[QTextBlockFormat, QTextCharFormat]:
        colors = self._theme.colors
        block, font = QTextBlockFormat(), QTextCharFormat()
        block.setTopMargin(GAP + 4 if line.kind == HEAD and not first else 1)
        backs = {ADDED: colors.diff_add, REMOVED: colors.diff_remove, FOUND: colors.warn.tint}
        if line.kind in backs:
            block.setBackground(backs[line.kind])
        if line.kind in (HEAD, NOTE, FOUND):
            font.setFont(self._theme.font(0, _WEIGHTS.get(line.kind, QFont.Weight.Normal)))
        else:
            font.setFont(self._theme.fixed())
        font.setForeground(colors.text2 if line.kind == NOTE else colors.text)
        return block, font

    def _write(self, cursor: QTextCursor, line: EvidenceLine, font: QTextCharFormat) -> None:
        cursor.insertText(_SIGNS.get(line.kind, ""), font)
        done = 0
        for start, length in sorted(line.marks):
            if start < done:
                continue  # a hidden character within a changed word
            cursor.insertText(line.text[done:start], font)
            done = start + length
            cursor.insertText(line.text[start:done], self._marked(line, font))
        cursor.insertText(line.text[done:], font)

    def _marked(self, line: EvidenceLine, font: QTextCharFormat) -> QTextCharFormat:
        marked = QTextCharFormat(font)
        marked.setFontWeight(QFont.Weight.Bold)
        marked.setBackground(self._mark_ink(line.kind))
        return marked

    def _mark_ink(self, kind: str) -> QColor:
        colors = self._theme.colors
        inks = {ADDED: colors.diff_add_word, REMOVED: colors.diff_remove_word}
        return inks.get(kind, colors.block.tint)


_WEIGHTS = {HEAD: QFont.Weight.DemiBold}


REST_MS = 600  # before a decision on the next tool
_HELD = badge("held")
_UNREAD = "Read the evidence to its end first"
_CUT = "Its text is too long to be shown here: approve it with toolcrib trust"
_AS_IS = "Hosts that are left as they are start the server themselves and still get it."


class ReviewCard(QFrame):
    """The right side of the Review page."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setProperty("card", True)
        self.item: ReviewItem | None = None
        self.title = theme.heading(PlainLabel(wrap=True), 3)
        self.state = Badge(theme, _HELD)
        self.state_line = PlainLabel(wrap=True, look="faint")
        # long names must not make the card wider
        self.state_line.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.evidence = EvidenceView(theme)
        self.hold = theme.put_icon(
            push_button(look="primary", name="keepHeld"), "lock-outline", "on_accent"
        )
        # the blanks keep icons that fill their place off the words
        self.off, self.server_off = QPushButton(" Turn tool off"), QPushButton(" Turn server off")
        self.approve = theme.put_icon(push_button(name="approve"), "check-circle-outline")
        self._seen = False  # whether the evidence was read to its end
        self._whole = False  # whether it is all that there is
        self._rest = QTimer(self, interval=REST_MS, singleShot=True)
        self._rest.timeout.connect(self._enable)
        self._lay_out()
        self.evidence.seen.connect(self._on_seen)
        theme.put_icon(self.off, "eye-off-outline")
        theme.put_icon(self.server_off, "server-off")

    def show_item(self, item: ReviewItem) -> None:
        """Show a tool; decisions open a moment later, so that a double click decides on one only.

        It can be approved once its evidence was read to the end.
        """
        proof = evidence(item)
        self.item, self._seen, self._whole = item, False, proof.whole
        self.title.setText(item.title)
        self.state.show_badge(_HELD if _waits(item) else item_badge(item))
        self.state_line.setText(f"{_state_text(item)} {item.meaning}{_source(item)}")
        self.hold.setText("Keep held" if item.row.held else "Hold back")
        asks = "…" if item.severity == "block" else ""
        self.approve.setText(("Approve this change" if item.changed else "Approve") + asks)
        self.wait()
        self.evidence.show_lines(proof.lines)
        self._rest.start()

    def wait(self) -> None:
        """No decision until the next show_item(): one is under way."""
        self._rest.stop()
        for button in self._buttons:
            button.setEnabled(False)

    @property
    def _buttons(self) -> tuple[QPushButton, ...]:
        return self.hold, self.off, self.server_off, self.approve

    def _on_seen(self) -> None:
        self._seen = True
        if not self._rest.isActive():
            self._enable()

    def _enable(self) -> None:
        item = self.item
        if item is None:
            return
        self.hold.setEnabled(item.state != KEPT)
        self.off.setEnabled(item.row.on)
        self.server_off.setEnabled(True)
        self.approve.setEnabled(self._seen and self._whole and item.state != APPROVED)
        why = "" if self._seen else _UNREAD
        self.approve.setToolTip(plain_tip(why if self._whole else _CUT))

    def _lay_out(self) -> None:
        self.title.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        head = hbox((self.title, 1), (self.state, Qt.AlignmentFlag.AlignTop))
        row = Flow()
        keeps = QWidget()
        left = Flow(keeps)
        for button in (self.hold, self.off, self.server_off):
            left.addWidget(button)
        row.add_wide(keeps)
        row.addWidget(self.approve)
        vbox(head, self.state_line, (self.evidence, 1), row, inside=self, margins=CARD)


def _waits(item: ReviewItem) -> bool:
    return item.state == OPEN and bool(item.row.held)


def _state_text(item: ReviewItem) -> str:
    """Sentence on what hosts get of it now, and on the decision."""
    name = visible(item.row.tool.tool_id)
    if item.state == OFF:
        return f"{name} is off: Toolcrib gives it to no host."
    if item.state == KEPT:
        return f"You hold {name} back: Toolcrib gives it to no host. {_AS_IS}"
    if item.state == APPROVED:
        return f"You approved this text of {name}."
    if item.row.held:
        return f"{name} is held back: Toolcrib gives it to no host until you decide. {_AS_IS}"
    return f"Hosts get {name}."


def _source(item: ReviewItem) -> str:
    if not item.rule:
        return ""
    tool = item.row.tool
    prints = f", fingerprint {tool.trusted_hash[:8]} → {tool.hash[:8]}" if item.changed else ""
    return f" Rule {item.rule}{prints}."
