"""Result of a call: texts, pictures, structured content, the JSON and the messages."""

import base64
import binascii
import json
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QImage, QPixmap
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QScrollArea, QTabWidget, QVBoxLayout, QWidget

from store.typed import Json
from ui.look.text import visible
from ui.look.theme import GAP, Theme
from ui.widgets.boxes import STYLE, boxed, vbox
from ui.widgets.label import PlainLabel
from ui.widgets.named import named

if TYPE_CHECKING:
    from app.registry.calling import CallResult

RESULT, STRUCTURED, WHOLE, MESSAGES = "Result", "Structured", "JSON", "Messages"
_MOST_PIXELS = 40_000_000  # of a picture; larger ones are named only
_LONGEST = 2_000_000  # characters that are shown of a text


class ResultView(QTabWidget):
    """Tabs for what there is."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setDocumentMode(True)
        self.setAccessibleName("Result")
        self._theme = theme
        self._texts = {
            name: self._make_text(name) for name in (RESULT, STRUCTURED, WHOLE, MESSAGES)
        }
        self._pictures = QWidget()
        self._column = QVBoxLayout(self._pictures)
        self._column.setSpacing(GAP)
        self._area = named(QScrollArea(widgetResizable=True), "Pictures")
        self._area.setWidget(self._pictures)
        self._area.hide()
        self.pictures: list[QLabel] = []
        self._first = boxed(vbox((self._texts[RESULT], 1), (self._area, 2), gap=STYLE))
        self.clear_result()

    def text(self, tab: str) -> str:
        """Text of a tab."""
        return self._texts[tab].toPlainText()

    @property
    def shown(self) -> str:
        """The text of the tab in front, for copying."""
        name = self.tabText(self.currentIndex())
        return self.text(name) if name in self._texts else ""

    def clear_result(self) -> None:
        """Nothing was called yet."""
        self._show_tabs((RESULT,))
        self._texts[RESULT].setPlainText("")
        self._show_pictures(())

    def show_call(self, call: "CallResult") -> None:
        """Show what came back."""
        blocks = call.result.get("content")
        content = [b for b in blocks if isinstance(b, dict)] if isinstance(blocks, list) else []
        texts = [words for block in content for words in _words(block)]
        printed = (
            f"\n\nThe server printed:\n{call.printed}" if call.problem and call.printed else ""
        )
        words = call.problem + printed or "\n\n".join(texts) or _nothing(content)
        structured = call.result.get("structuredContent")
        self._texts[RESULT].setPlainText(visible(words)[:_LONGEST])
        self._texts[STRUCTURED].setPlainText(_pretty(structured))
        self._texts[WHOLE].setPlainText(_pretty(call.result))
        self._texts[MESSAGES].setPlainText("\n\n".join(_message_lines(call)))
        names = [RESULT, STRUCTURED, WHOLE, MESSAGES]
        if structured is None:
            names.remove(STRUCTURED)
        self._show_tabs(names)
        self._show_pictures(content)
        self._texts[RESULT].setVisible(bool(texts) or not self.pictures)

    def _show_tabs(self, names: Sequence[str]) -> None:
        before = self.tabText(self.currentIndex())
        self.clear()
        for name in names:
            self.addTab(self._first if name == RESULT else self._texts[name], name)
        self.setCurrentIndex(list(names).index(before) if before in names else 0)

    def _show_pictures(self, blocks: Iterable[Json]) -> None:
        while self.pictures:
            self.pictures.pop().deleteLater()
        for block in blocks:
            if block.get("type") == "image":
                self.pictures.append(_picture(block))
                self._column.addWidget(self.pictures[-1])
        self._area.setVisible(bool(self.pictures))

    def _make_text(self, name: str) -> QPlainTextEdit:
        view = named(QPlainTextEdit(self, readOnly=True, tabChangesFocus=True), name)
        view.hide()
        self._theme.dress_fixed(view)
        return view


def _words(block: Json) -> Iterable[str]:
    """A content block in words."""
    kind = block.get("type")
    if kind == "text":
        yield str(block.get("text", ""))
    elif kind == "resource":
        resource = block.get("resource")
        inner = resource if isinstance(resource, dict) else {}
        yield f"{inner.get('uri', '')}\n{inner.get('text', '(not a text)')}"
    elif kind == "resource_link":
        yield f"{block.get('name', '')}: {block.get('uri', '')}"
    elif kind != "image":
        yield f"({kind}, {block.get('mimeType', 'of unknown type')})"


def _picture(block: Json) -> QLabel:
    label = PlainLabel()
    label.setAlignment(Qt.AlignmentFlag.AlignCenter)
    kind = str(block.get("mimeType", "image"))
    try:
        data = base64.b64decode(str(block.get("data", "")), validate=True)
    except (binascii.Error, ValueError):
        data = b""
    image = QImage.fromData(data)
    if image.isNull() or image.width() * image.height() > _MOST_PIXELS:
        label.setText(f"A picture ({kind}) that cannot be shown.")
    else:
        label.setPixmap(QPixmap.fromImage(image))
        label.setAccessibleName(f"Picture, {image.width()} by {image.height()} pixels, {kind}")
    return label


def _nothing(blocks: Sequence[Json]) -> str:
    return "" if blocks else "The result is empty."


def _pretty(value: object) -> str:
    return "" if value is None else json.dumps(value, indent=2, ensure_ascii=False)[:_LONGEST]


def _message_lines(call: "CallResult") -> Iterable[str]:
    for message in call.messages:
        moment = time.strftime("%H:%M:%S", time.localtime(message.at))
        arrow = "→ sent" if message.sent else "← received"
        yield f"{moment} {arrow}\n{message.text}"
