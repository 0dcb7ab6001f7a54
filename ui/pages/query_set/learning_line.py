"""The line about past use: what rankings learned, and the buttons to learn and to forget."""

from PySide6.QtWidgets import QWidget

from app.core.text import plural
from app.ranking.learning.learn import LEAST, LearnedModel, LearnReport
from ui.look.theme import Theme
from ui.widgets.boxes import hbox
from ui.widgets.elided import ElidedLabel
from ui.widgets.label import PlainLabel
from ui.widgets.push_button import push_button


class LearningLine(QWidget):
    """Learning from labelled queries and from activity."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._lessons, self._learned = 0, ""
        self._lesson: LearnedModel | None = None
        self._ready, self._busy = False, False
        self._figures = ""
        self._icon = PlainLabel()
        theme.put_icon(self._icon, "lightbulb-on-outline")
        self.text = ElidedLabel(name="learningText")
        self.learn = push_button()
        self.learn.setToolTip(
            "Rankings learn which tools you use after which queries. Nothing leaves this machine."
        )
        self.forget = push_button("Forget what was learned")
        hbox(self._icon, (self.text, 1), self.learn, self.forget, inside=self)

    def show_state(self, lessons: int, learned: str, lesson: LearnedModel | None) -> None:
        """Show the number of queries to learn from, and the model learned from them ("": none)."""
        if learned != self._learned and not self._busy:
            self._figures = ""  # undone, or learned by another process
        self._lessons, self._learned, self._lesson = lessons, learned, lesson
        self._show()

    def set_ready(self, ready: bool) -> None:
        """Tell the line if the encoder is there."""
        self._ready = ready
        self._show()

    def set_busy(self, busy: bool) -> None:
        """Tell the line if learning is under way."""
        self._busy = busy
        self._show()

    def show_report(self, report: LearnReport, learned: str) -> None:
        """Say what learning found."""
        self._figures, self._learned = figures(report), learned
        self._show()

    def _show(self) -> None:
        self.learn.setText(f"Learn from {plural(self._lessons, 'query')}")
        enough = self._lessons >= LEAST
        self.learn.setEnabled(enough and self._ready and not self._busy)
        self.forget.setVisible(bool(self._learned))
        self.forget.setEnabled(not self._busy)
        if self._busy:
            text = f"Learning from {plural(self._lessons, 'query')}…"
        elif self._figures:
            text = self._figures
        elif self._learned and self._lesson:
            text = learned_from(self._lesson)
        elif not enough:
            text = (
                f"Past use: rankings can learn from {LEAST} queries on, labelled or from activity."
            )
        else:
            text = "Past use: nothing learned yet."
        self.text.setText(text)


def learned_from(lesson: LearnedModel) -> str:
    """Sentence on the learned model and its use."""
    what = f"Past use: learned from {plural(lesson.queries, 'query')}."
    if not lesson.used:
        return (
            f"{what} Another version of Toolcrib learned it, this one does not use it: learn again."
        )
    if lesson.stale:
        return f"{what} Tools changed since: learn again."
    return f"{what} The Try tab shows rankings with and without it."


def figures(report: LearnReport) -> str:
    """Result of learning in words: nDCG before and after."""
    if not report.after:
        return report.reason
    what = f"Learned from {plural(report.labels, 'query')}" if report.used else "Not learned"
    return f"{what}: nDCG@10 of held-back queries {report.before:.1f} → {report.after:.1f}."


def sentence(report: LearnReport) -> str:
    """Sentence on the result of learning, and its consequence."""
    return f"{figures(report)} {report.reason}" if report.after else report.reason
