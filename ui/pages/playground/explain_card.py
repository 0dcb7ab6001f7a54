"""The explain card: why a tool is in or out, and what would change that."""

import html
import re
from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QLabel, QPushButton

from app.ranking import phrases
from app.ranking.gates import GATES
from app.ranking.keyword import stem
from app.ranking.ranked import RankedTool
from ui.look.theme import Theme
from ui.pages.playground.explain_parts import GateRow, PartRows
from ui.shell.answer import Answer
from ui.shell.gate_lines import gate_lines
from ui.shell.remedies import SettingsRemedy, settings_remedy
from ui.widgets.boxes import STRETCH, boxed, scrolled, vbox
from ui.widgets.elided import ElidedLabel
from ui.widgets.flow import Flow
from ui.widgets.label import PlainLabel
from ui.widgets.named import named
from ui.widgets.push_button import push_button

WIDTH = 300
_LEAST = 32  # px of gates and parts: the window must fit a low screen
_LONGEST = 600  # characters of a description


class ExplainCard(QFrame):
    """One candidate explained.

    Signals: cure_wanted(tool, cure) when the user takes the remedy; label_wanted(tool, yes or no)
    when the user says whether the query should find it; summary_wanted(tool) to edit what it is
    found by.
    """

    cure_wanted = Signal(object, object)
    label_wanted = Signal(object, bool)
    summary_wanted = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        named(self, "Why is it in or out?", name="explain")
        self.setProperty("card", True)
        self.setMinimumWidth(240)
        self._theme = theme
        self._tool: RankedTool | None = None
        self._cure: SettingsRemedy | None = None
        self._title = theme.heading(PlainLabel("Why?"), 2)
        self._name = ElidedLabel()
        self._gates = [GateRow(theme) for _ in GATES]
        self._parts = PartRows(theme)
        self._heading = theme.heading(PlainLabel("Score parts"), 0)
        self._text = QLabel(wordWrap=True, textFormat=Qt.TextFormat.RichText)
        self._text.setProperty("faint", True)
        self._remedy = PlainLabel(wrap=True)
        self._button = push_button("", self._take)
        self.label = push_button("", self._give_label, look="chip", name="labelExpected")
        tip = "Change the summary that queries are compared with"
        self.edit = push_button("Edit summary…", self._edit, look="flat_link", tip=tip)
        self._tier = PlainLabel(wrap=True, look="faint")
        self._labelled = False
        self._lay_out()
        self.clear()

    @property
    def button(self) -> QPushButton:
        """The button that carries out the remedy."""
        return self._button

    def clear(self) -> None:
        """Show no tool."""
        self._tool = self._cure = None
        self._title.setText("Why?")
        self._name.setText("Choose a tool to see why it is in or out.")
        for widget in (*self._gates, self._tier, self._heading, self._parts, self._text):
            widget.hide()
        for last in (self._remedy, self._button, self.label, self.edit):
            last.hide()

    def show_tool(
        self, tool: RankedTool, answer: Answer, description: str, *, labelled: bool
    ) -> None:
        """Explain a tool of this answer; `labelled`: the query's label expects it."""
        if self._tool is None or self._tool.tool_id != tool.tool_id:
            ink = self._theme.colors.diff_add_word.name()
            self._text.setText(marked(description, tool.matched, ink))
        self._tool, self._cure = tool, settings_remedy(tool.verdict.remedy, answer.settings)
        self._title.setText("Why is it in?" if tool.shown else "Why is it out?")
        self._name.setText(tool.tool_id)
        lines = gate_lines(tool, answer.ranked, line=answer.line, settings=answer.settings)
        for row, line in zip(self._gates, lines, strict=True):
            row.show_gate(line)
            row.setVisible(not answer.engine)  # a host's search has none
        self._parts.show_parts(tool.parts, tool.score)
        for widget in (self._heading, self._parts, self._text):
            widget.show()
        is_labelled = tool.id in answer.ranked.labelled
        tier = "" if answer.engine else phrases.found_in(tool.verdict, is_labelled=is_labelled)
        self._tier.say(tier)
        remedy = answer.why(tool) if answer.engine else phrases.remedy(tool.verdict)
        self._remedy.setText(f"{remedy}.")
        self._remedy.setVisible(bool(answer.engine) or not tool.shown)
        self._button.setText(self._cure.words if self._cure else "")
        self._button.setVisible(self._cure is not None)
        self._labelled = labelled
        self.label.setText("Not expected" if labelled else "Label as expected")
        self.label.setToolTip(
            "Remove this tool from the query's expected tools"
            if labelled
            else "Add this query to the query set, with this tool as expected"
        )
        self.label.show()
        self.edit.show()

    def _edit(self) -> None:
        if self._tool is not None:
            self.summary_wanted.emit(self._tool)

    def _give_label(self) -> None:
        if self._tool is not None:
            self.label_wanted.emit(self._tool, not self._labelled)

    def _take(self) -> None:
        if self._tool and self._cure:
            self.cure_wanted.emit(self._tool, self._cure)

    def _lay_out(self) -> None:
        inside = boxed(
            vbox(
                *self._gates,
                self._tier,
                8,
                self._heading,
                self._parts,
                8,
                self._text,
                (self.edit, Qt.AlignmentFlag.AlignLeft),
                STRETCH,
                margins=(0, 0, 8, 0),
                gap=6,
            )
        )
        scroll = named(scrolled(inside, sideways=False), "Gates and score parts")
        scroll.setMinimumHeight(_LEAST)
        inside.setAutoFillBackground(False)  # setWidget turned it on: the card shows through
        head = Flow()
        head.add_wide(self._title)
        head.addWidget(self.label)
        vbox(
            head,
            self._name,
            (scroll, 1),
            self._remedy,
            (self._button, Qt.AlignmentFlag.AlignLeft),
            inside=self,
            margins=(16, 12, 16, 12),
            gap=8,
        )


def marked(text: str, words: Sequence[str], ink: str) -> str:
    """A description as rich text with the query's words marked; the text itself stays plain."""
    text = text.strip()
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    wanted = {stem(word) for word in words}
    pieces = re.split(r"(\w+)", cut)
    marked = [_piece(piece, stem(piece.lower()) in wanted, ink) for piece in pieces]
    return "".join(marked).replace("\n", "<br>")


def _piece(piece: str, wanted: bool, ink: str) -> str:
    safe = html.escape(piece)
    return f'<span style="background:{ink}"><b>{safe}</b></span>' if wanted else safe
