"""The form for a server that no host's file names: typed in, or a config that is pasted."""

from collections.abc import Callable, Iterable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QScrollArea,
    QTabWidget,
    QWidget,
)

from app.core.errors import ToolcribError
from app.hosts.launch import STDIO, LaunchSpec
from ui.look.theme import GAP, MARGIN, Theme
from ui.pages.catalog.new_server import FieldError, command_line, command_server, url_server
from ui.pages.catalog.server_work import Discovery, add, take_text
from ui.shell.services import Services
from ui.widgets.boxes import STRETCH, STYLE, boxed, form, hbox, vbox
from ui.widgets.flow import Flow
from ui.widgets.form_dialog import FormDialog
from ui.widgets.label import PlainLabel
from ui.widgets.named import named


class PairRows(QWidget):
    """Rows of name and value; there is always an empty one to type into."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._what = "Variable"
        self.rows: list[tuple[QLineEdit, QLineEdit]] = []
        self._column = vbox(STRETCH, inside=self)
        self._add()

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Pairs as typed, empty rows too."""
        return tuple((name.text(), value.text()) for name, value in self.rows)

    def fill(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Begin with these; the values stay hidden."""
        for name, value in pairs:
            self.rows[-1][0].setText(name)
            self.rows[-2][1].setText(value)

    def call(self, what: str) -> None:
        """Name the rows: Variable or Header."""
        self._what = what
        for number in range(len(self.rows)):
            self._label(number)

    def _add(self) -> None:
        name, value, show = QLineEdit(self), QLineEdit(self), QPushButton(self)
        name.setPlaceholderText("Name")
        value.setPlaceholderText("Value")
        value.setEchoMode(QLineEdit.EchoMode.Password)
        show.setCheckable(True)
        show.setAutoDefault(False)  # Enter in a field must never show a value
        self._theme.put_icon(show, "eye-outline")
        show.setToolTip("Show the value")
        show.setAccessibleName("Show the value")
        echo = QLineEdit.EchoMode
        show.toggled.connect(lambda on: value.setEchoMode(echo.Normal if on else echo.Password))
        name.textChanged.connect(self._grow)
        value.textChanged.connect(self._grow)
        row = hbox((name, 2), (value, 3), (show, Qt.AlignmentFlag.AlignVCenter))
        self._column.insertLayout(len(self.rows), row)
        self.rows.append((name, value))
        self._label(len(self.rows) - 1)

    def _label(self, number: int) -> None:
        name, value = self.rows[number]
        name.setAccessibleName(f"{self._what} {number + 1}, name")
        value.setAccessibleName(f"{self._what} {number + 1}, value")

    def _grow(self) -> None:
        if any(field.text() for field in self.rows[-1]):
            self._add()


_SAFE = (
    "Values go to the system's keychain, or without one to a file that only you can read."
    " Nothing is started yet."
)
_IN_FILE = (
    "The values are written to the file as {} reads them. The difference is shown before that."
    " Nothing is started."
)
_WIDTH = 560  # px
_PASTE = '{\n  "mcpServers": {\n    "time": {"command": "uvx", "args": ["mcp-server-time"]}\n  }\n}'


class AddServerDialog(FormDialog):
    """Stays open, with all that was typed, until the servers are registered.

    With `filled` the form begins with that server; `edits` has it saved instead of added. `where`
    names a host whose file has it: what was typed is then shown as a difference first.

    Signals: added(Discovery) then; edited(name, LaunchSpec) when one is to be saved.
    """

    added = Signal(object)
    edited = Signal(str, object)

    def __init__(
        self,
        services: Services,
        parent: QWidget | None = None,
        *,
        filled: tuple[str, LaunchSpec] | None = None,
        edits: bool = False,
        where: str = "",
    ) -> None:
        super().__init__("Add a server", "Add", parent, name="addServer")
        self._services = services
        self._edits, self._where = edits, where
        room = self.screen().availableGeometry().width() * 9 // 10
        self.setMinimumWidth(min(services.theme.scaled(_WIDTH), room))
        self.problem.setObjectName("addServerProblem")
        self.tabs = named(QTabWidget(documentMode=True), "Ways to add")
        self.tabs.addTab(self._make_form(), "&One server")
        self.tabs.addTab(self._make_paste(), "&Paste a config")
        self.tabs.currentChanged.connect(lambda _number: self.problem.say(""))
        self.lay_out(self.tabs)
        if filled is not None:
            self._fill(*filled)
        self._show_kind()
        self.name.setFocus()

    def _fill(self, name: str, launch: LaunchSpec) -> None:
        """Begin with a server as it is; its values stay hidden until they are asked for."""
        self.tabs.setTabVisible(1, False)
        self.name.setText(name)
        by_url = launch.transport != STDIO
        self.by_url.setChecked(by_url)
        self.url.setText(launch.url)
        if not by_url:
            self.command.setText(command_line(launch))
        self.pairs.fill((launch.headers if by_url else launch.env).items())
        self.tabs.tabBar().hide()  # with one tab
        if self._edits:
            self.setWindowTitle(f"Edit {name}" + (f" in {self._where}" if self._where else ""))
            self.save.setText("Show the difference…" if self._where else "Save")
            for radio in (self.by_command, self.by_url):
                radio.setEnabled(False)
        else:
            self.setWindowTitle("Duplicate a server")

    def _make_form(self) -> QWidget:
        self.name = named(QLineEdit(), "Name")
        self.by_command = QRadioButton("Starts a &command")
        self.by_url = QRadioButton("Reached by &URL")
        self.by_command.setChecked(True)
        kinds = QButtonGroup(self)
        row = Flow(spacing=MARGIN)
        for radio in (self.by_command, self.by_url):
            kinds.addButton(radio)
            row.addWidget(radio)
        self.by_url.toggled.connect(self._show_kind)
        self.command, self.url = QLineEdit(), QLineEdit()
        self.command.setPlaceholderText("npx -y @modelcontextprotocol/server-memory")
        self.command.setAccessibleName("Command")
        self.url.setPlaceholderText("https://example.com/mcp")
        self.url.setAccessibleName("URL")
        self.pairs, self._pairs_label = PairRows(self._services.theme), PlainLabel()
        area = QScrollArea(widgetResizable=True)
        area.setWidget(self.pairs)
        area.setMinimumHeight(110)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        for widget in (area.viewport(), self.pairs):
            widget.setAutoFillBackground(False)
        words = _IN_FILE.format(self._where) if self._where else _SAFE
        safe = PlainLabel(words, wrap=True, look="faint")
        page = QWidget()
        self._form = form(
            ("&Name", self.name),
            ("", boxed(row)),
            ("Co&mmand", self.command),
            ("U&RL", self.url),
            inside=page,
            gap=GAP,
        )
        self._form.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        self._form.addRow(self._pairs_label, area)
        self._form.addRow("", safe)
        return page

    def _make_paste(self) -> QWidget:
        self.text = named(QPlainTextEdit(placeholderText=_PASTE, tabChangesFocus=True), "Config")
        self._services.theme.dress_fixed(self.text)
        words = "As a server's documentation gives it; servers pasted before stay."
        hint = PlainLabel(words, look="faint")
        return boxed(vbox((self.text, 1), hint, margins=MARGIN, gap=STYLE))

    def _show_kind(self) -> None:
        by_url = self.by_url.isChecked()
        self._form.setRowVisible(self.command, not by_url)
        self._form.setRowVisible(self.url, by_url)
        self.pairs.call("Header" if by_url else "Variable")
        self._pairs_label.setText("Headers" if by_url else "Environment")
        self.problem.say("")

    def press(self) -> None:
        """Add the servers, or say what is wrong."""
        try:
            if self._edits:
                server = self._typed()
                self.accept()
                self.edited.emit(*server)
                return
            work = self._wanted()
        except FieldError as error:
            start = self.url if self.by_url.isChecked() else self.command
            fields = {"name": self.name, "start": start, "pairs": self.pairs.rows[0][0]}
            self.refuse(error.title, fields[error.field])
            return
        self.save.setEnabled(False)
        self._services.tasks.work(lambda _job: work(), self._done, failed=self._fail)

    def _wanted(self) -> Callable[[], Discovery]:
        """Return the work that the form describes; raises FieldError."""
        ctx = self._services.ctx
        if self.tabs.currentIndex() == 1:
            text = self.text.toPlainText()
            return lambda: take_text(ctx, text)
        name, launch = self._typed()
        return lambda: add(ctx, name, launch)

    def _typed(self) -> tuple[str, LaunchSpec]:
        """The one server of the form; raises FieldError."""
        if self.by_url.isChecked():
            return url_server(self.name.text(), self.url.text(), self.pairs.pairs)
        return command_server(self.name.text(), self.command.text(), self.pairs.pairs)

    def reject(self) -> None:
        """Cancel, unless the servers are on their way into the catalogue."""
        if self.save.isEnabled():
            super().reject()

    def _done(self, discovery: Discovery) -> None:
        self.accept()
        self.added.emit(discovery)

    def _fail(self, error: ToolcribError) -> None:
        self.save.setEnabled(True)
        self.problem.say(error.text)
