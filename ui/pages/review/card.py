"""One tool under review: what was found, what that means, the evidence, the decisions."""

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QPushButton, QSizePolicy, QWidget

from app.safety.review import APPROVED, KEPT, OFF, OPEN, ReviewItem
from ui.look.text import plain_tip, visible
from ui.look.theme import CARD, Theme
from ui.pages.review.evidence import evidence
from ui.pages.review.evidence_view import EvidenceView
from ui.pages.review.rows import item_badge
from ui.shell.badges import badge
from ui.widgets.badge import Badge
from ui.widgets.boxes import hbox, vbox
from ui.widgets.flow import Flow
from ui.widgets.label import PlainLabel
from ui.widgets.push_button import push_button

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
        self.title = PlainLabel(wrap=True)
        self.state = Badge(theme, _HELD)
        self.state_line = PlainLabel(wrap=True, look="faint")
        # long names must not make the card wider
        self.state_line.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.evidence = EvidenceView(theme)
        self.hold = push_button(look="primary", name="keepHeld")
        # the blanks keep icons that fill their place off the words
        self.off, self.server_off = QPushButton(" Turn tool off"), QPushButton(" Turn server off")
        self.approve = push_button(name="approve")
        self._seen = False  # whether the evidence was read to its end
        self._whole = False  # whether it is all that there is
        self._rest = QTimer(self, interval=REST_MS, singleShot=True)
        self._rest.timeout.connect(self._enable)
        self._lay_out()
        self.evidence.seen.connect(self._on_seen)
        theme.dress(self.title, 3, QFont.Weight.DemiBold)
        theme.put_icon(self.hold, "lock-outline", "on_accent")
        theme.put_icon(self.off, "eye-off-outline")
        theme.put_icon(self.server_off, "server-off")
        theme.put_icon(self.approve, "check-circle-outline")

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
