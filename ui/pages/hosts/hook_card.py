"""The switch of a host's hook: tools suggested for each prompt."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QFrame, QHBoxLayout, QLabel, QWidget

from app.export.hooks.files import reads
from app.export.hooks.standing import OFF, WAITING, HookStanding
from ui.look.theme import CARD, GAP, Theme


class HookCard(QFrame):
    """The switch and how the hook stands; it moves only once the host's file is written.

    Signals: change_wanted(True to write the hook, False to take it out) by the user.
    """

    change_wanted = Signal(bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("card", True)
        self._theme = theme
        self._standing: HookStanding | None = None
        self.switch = QCheckBox("Suggest tools for each prompt")
        self.switch.setObjectName("hookSwitch")
        self.words = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self.words.setProperty("faint", True)
        self._icon = QLabel()
        row = QHBoxLayout(self)
        row.setContentsMargins(CARD - 4, GAP, CARD - 4, GAP)
        row.setSpacing(CARD)
        top = Qt.AlignmentFlag.AlignTop
        row.addWidget(self.switch, 0, top)
        row.addWidget(self._icon, 0, top)
        row.addWidget(self.words, 1, top)
        self.switch.clicked.connect(self._on_clicked)
        theme.changed.connect(self._recolor)
        self._recolor()

    def show_standing(self, standing: HookStanding | None, *, keeps: bool = False) -> None:
        """Show how the host's hook stands; None while nobody has looked.

        `keeps` is whether prompts are kept.
        """
        self._standing = standing
        self.setVisible(standing is not None)
        if standing is None:
            return
        self.switch.setChecked(standing.installed)
        self.switch.setEnabled(standing.can_change)
        says = reads(keeps=keeps)
        words = says if standing.kind == OFF else standing.words
        self.switch.setToolTip(says)
        self.words.setText(words)
        self.switch.setAccessibleDescription(words)
        self._icon.setVisible(standing.kind == WAITING)

    def _on_clicked(self) -> None:
        """Ask for the change; the switch stays where the file is."""
        installed = self._standing is not None and self._standing.installed
        self.switch.setChecked(installed)
        self.change_wanted.emit(not installed)

    def _recolor(self) -> None:
        ink = self._theme.colors.tone("warn").ink
        ratio = self.devicePixelRatioF()
        self._icon.setPixmap(self._theme.icons.pixmap("alert", ink, 16, ratio))
