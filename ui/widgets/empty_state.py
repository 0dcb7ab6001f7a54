"""View of an empty page: an icon, a sentence, the next step."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from ui.look.theme import MARGIN, Theme
from ui.widgets.boxes import STRETCH, STYLE, hbox, vbox
from ui.widgets.label import PlainLabel
from ui.widgets.push_button import Press, push_button


class EmptyState(QWidget):
    """Centred in its page; the first button is the primary one."""

    def __init__(
        self, theme: Theme, *, icon: str, text: str, hint: str, buttons: Sequence[Press] = ()
    ) -> None:
        super().__init__()
        sign = theme.put_icon(PlainLabel(), icon, size=48)
        sign.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.text = theme.heading(PlainLabel(text), 3)
        self.text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.hint = PlainLabel(hint, wrap=True, look="faint")
        self.hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.buttons = [
            push_button(words, lambda _checked=False, press=press: press())
            for words, press in buttons
        ]
        for button in self.buttons[:1]:
            button.setProperty("primary", True)
        row = hbox(STRETCH, *self.buttons, STRETCH)
        vbox(
            (None, 2),
            sign,
            self.text,
            self.hint,
            row,
            (None, 3),
            inside=self,
            margins=STYLE,
            gap=MARGIN,
        )
