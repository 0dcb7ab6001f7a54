"""Switches of what Toolcrib adds to a host's prompts: suggested tools, words on the menu."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QFrame

from app.hooks.files import reads
from app.hooks.rules import RulesStatus
from app.hooks.status import OFF, WAITING, HookStatus
from ui.look.text import plain_tip
from ui.look.theme import CARD, GAP, Theme
from ui.widgets.boxes import STRETCH, hbox, vbox
from ui.widgets.label import PlainLabel
from ui.widgets.push_button import push_button

_BESIDE = 10  # px around a switch's box


class SwitchCard(QFrame):
    """A switch with its state below; it moves only once the host's file is written.

    Signals: change_wanted(True to write, False to take out) by the user.
    """

    change_wanted = Signal(bool)

    def __init__(self, theme: Theme, title: str) -> None:
        super().__init__()
        self.setProperty("card", True)
        self._theme = theme
        self._installed = False
        self.used = False  # whether it is on, or needs a look
        self.switch = QCheckBox(title)
        self.words = PlainLabel(wrap=True, look="faint")
        self._icon = theme.put_icon(PlainLabel(), "alert", "warn")
        self._row = hbox(self._icon, self.switch, STRETCH)
        vbox(
            self._row, self.words, inside=self, margins=(CARD - 4, GAP, CARD - 4, GAP), gap=GAP // 4
        )
        self.switch.clicked.connect(self._on_clicked)
        theme.changed.connect(self._fit)
        self._fit()

    def show_state(self, words: str, *, installed: bool, can_change: bool, warns: bool) -> None:
        """Show where the host's file is."""
        self._installed = installed
        self.used = installed or warns
        self.switch.setChecked(installed)
        self.switch.setEnabled(can_change)
        self.words.setText(words)
        self.switch.setAccessibleDescription(words)
        self._icon.setVisible(warns)

    def _on_clicked(self) -> None:
        """Ask for the change; the switch stays where the file is."""
        self.switch.setChecked(self._installed)
        self.change_wanted.emit(not self._installed)

    def _fit(self) -> None:
        beside = self._theme.scaled(14) + _BESIDE
        self.words.setContentsMargins(beside, 0, 0, 0)  # below the title


class HookCard(SwitchCard):
    """Tools suggested for each prompt; a hook of another mode can be brought up to date."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Suggest tools for each prompt")
        self.switch.setObjectName("hookSwitch")
        self.update_button = push_button(
            "Update…",
            lambda: self.change_wanted.emit(True),
            name="updateHook",
            tip="Update the hook to the way this host gets its tools now",
        )
        self.list_button = push_button(
            "Narrow the list…",
            name="narrowList",
            tip="Show the hook that removes tools that do not fit a request",
        )
        for button in (self.update_button, self.list_button):
            self._row.addWidget(button)

    def show_status(self, status: HookStatus | None, *, keeps: bool = False) -> None:
        """Show the state of the host's hook; None before the first look.

        `keeps`: True if prompts are kept.
        """
        self.setVisible(status is not None)
        if status is None:
            return
        says = reads(keeps=keeps)
        self.switch.setToolTip(plain_tip(says))
        self.update_button.setVisible(status.outdated)
        self.list_button.setVisible(status.can_narrow)
        self.show_state(
            says if status.kind == OFF else status.words,
            installed=status.installed,
            can_change=status.can_change,
            warns=status.kind == WAITING or status.outdated,
        )


class RulesCard(SwitchCard):
    """Words on the menu in the host's own instructions."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Rules snippet")
        self.switch.setObjectName("rulesSwitch")

    def show_status(self, status: RulesStatus | None) -> None:
        """Show the state of the words in the host's rules; None where they have no place."""
        self.setVisible(status is not None)
        if status is not None:
            self.show_state(
                status.words,
                installed=status.installed,
                can_change=status.can_change or status.installed,
                warns=status.warns,
            )
