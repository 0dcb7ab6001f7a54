"""Everything the window can do as actions: menus, toolbar, keys."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu

from ui.look.text import in_menu, plain_tip
from ui.look.theme import ZOOM_STEP
from ui.shell.log import show_log
from ui.shell.services import Services
from ui.widgets.table_tools import open_columns
from ui.windows.help import show_about, show_numbers, show_shortcuts
from ui.windows.history import show_history
from ui.windows.palette_entries import COMMAND, Entry
from ui.windows.profile_menu import ProfileMenu
from ui.windows.sections import SECTIONS
from ui.windows.toolbar import Toolbar
from ui.windows.window_actions import WindowActions


class Commands(QObject):
    """The window's actions; icons follow the theme."""

    def __init__(self, window: QMainWindow, services: Services, actions: WindowActions) -> None:
        super().__init__(window)
        self._actions = actions
        self._window = window
        self._services = services
        self._icons: list[tuple[QAction, str]] = []
        self._make_undo()
        bar = window.menuBar()
        self._fill_file(bar.addMenu("&File"))
        self._fill_edit(bar.addMenu("&Edit"))
        self._fill_view(bar.addMenu("&View"))
        self._fill_tools(bar.addMenu("&Tools"))
        self._fill_help(bar.addMenu("&Help"))
        self._make_toolbar()
        services.theme.changed.connect(self._recolor)
        self._recolor()

    def show_export(self, text: str, tip: str, useful: bool) -> None:
        """Set the export button's text; without anything to do it cannot be pressed."""
        self.export.setText(text)
        self.export.setToolTip(plain_tip(tip))
        self.export.setEnabled(useful)
        self._recolor()

    def _make_undo(self) -> None:
        # not createUndoAction: what it makes dies with the first QUndoView of the stack that closes
        # (PySide6 6.11), and the window goes on using it
        stack = self._services.undo
        self.undo, self.redo = QAction("&Undo", self), QAction("&Redo", self)
        self.undo.setShortcuts([QKeySequence("Ctrl+Z")])
        self.redo.setShortcuts([QKeySequence("Ctrl+Shift+Z"), QKeySequence("Ctrl+Y")])
        self.undo.triggered.connect(lambda _checked=False: stack.undo())
        self.redo.triggered.connect(lambda _checked=False: stack.redo())
        stack.canUndoChanged.connect(self.undo.setEnabled)
        stack.canRedoChanged.connect(self.redo.setEnabled)
        stack.undoTextChanged.connect(partial(_name_step, self.undo, "Undo"))
        stack.redoTextChanged.connect(partial(_name_step, self.redo, "Redo"))
        self.undo.setEnabled(stack.canUndo())
        self.redo.setEnabled(stack.canRedo())
        self._icons += [(self.undo, "undo-variant"), (self.redo, "redo-variant")]

    def _fill_file(self, file: QMenu) -> None:
        do = self._actions
        self._add(
            file,
            "&Open config…",
            lambda: do.catalog().open_config(),
            "Ctrl+O",
            "folder-open-outline",
        )
        self._add(file, "Open &project…", lambda: do.catalog().open_project(), "Ctrl+Shift+O")
        self._add(file, "&Add server…", lambda: do.catalog().add_server(), "Ctrl+N", "plus")
        self._add(file, "&Find servers…", lambda: do.catalog().find_listed(), "Ctrl+Shift+N")
        self._add(file, "Open s&tack…", lambda: do.catalog().open_stack())
        self._add(file, "&Save stack…", lambda: do.catalog().save_stack())
        self._add(file, "&Import query set…", do.import_queries)
        self._add(file, "Export &report…", self._export_report)
        file.addSeparator()
        self._add(file, "Restore all &hosts…", do.restore_hosts, icon="backup-restore")
        file.addSeparator()
        self._add(file, "&Quit", do.close, "Ctrl+Q")

    def _fill_edit(self, edit: QMenu) -> None:
        window, do = self._window, self._actions
        edit.addActions([self.undo, self.redo])
        self._add(edit, "&History…", lambda: show_history(window, self._services.undo), "Ctrl+H")
        edit.addSeparator()
        self._add(edit, "&Find", lambda: do.page().focus_filter(), "Ctrl+F")
        edit.addSeparator()
        self._add(edit, "Turn selection &on or off", lambda: do.catalog().toggle_selection())
        self._add(edit, "&Pin or unpin selection", lambda: do.catalog().pin_selection())
        self._add(edit, "Fit server in bud&get…", lambda: do.catalog().fit_server())
        self._add(edit, "Upd&ate server…", lambda: do.catalog().update_server())
        self._add(edit, "Have re&quests written…", lambda: do.catalog().write_requests())
        self._add(edit, "Edit ser&ver…", lambda: do.catalog().edit_server())
        self._add(edit, "D&uplicate server…", lambda: do.catalog().edit_server(duplicate=True))
        self._add(edit, "Disa&ble or enable server", lambda: do.catalog().disable_server())
        self._add(edit, "Re&move server…", lambda: do.catalog().remove_server())
        self._add(edit, "Remove all of its &file", lambda: do.catalog().remove_added())
        edit.addSeparator()
        self._add(edit, "&Settings…", lambda: self.open_settings(), "Ctrl+,", "cog-outline")

    def _fill_view(self, view: QMenu) -> None:
        do = self._actions
        for number, section in enumerate(SECTIONS, 1):
            self._add(
                view,
                f"&{section.title}",
                partial(do.open_page, section.key),
                f"Ctrl+{number}",
                section.icon,
            )
        view.addSeparator()
        self.profiles = ProfileMenu(self._services, self._window)
        view.addMenu(self.profiles)
        view.addSeparator()
        self._add(view, "Re&fresh", lambda: do.page().refresh(), "F5")
        self._add(view, "Bac&k", lambda: do.travel(-1), "Alt+Left")
        self._add(view, "For&ward", lambda: do.travel(1), "Alt+Right")
        self._add(view, "Ne&xt pane", lambda: do.cycle(1), "F6")
        self._add(view, "Pre&vious pane", lambda: do.cycle(-1), "Shift+F6")
        self._add(view, "Col&umns…", lambda: open_columns(do.page()))
        self._add_density(view)
        self._add_advanced(view)
        view.addSeparator()
        self._add_appearance(view.addMenu("App&earance"))
        zoom = self._zoom_by
        larger = self._add(view, "&Larger text", lambda: zoom(ZOOM_STEP))
        larger.setShortcuts([QKeySequence("Ctrl+="), QKeySequence("Ctrl++")])
        self._add(view, "&Smaller text", lambda: zoom(-ZOOM_STEP), "Ctrl+-")
        self._add(view, "Text as &usual", lambda: zoom(100 - self._services.theme.zoom), "Ctrl+0")

    def _fill_tools(self, tools: QMenu) -> None:
        window, do = self._window, self._actions
        find = self._add(tools, "&Find anything…", do.find, icon="magnify")
        find.setShortcuts([QKeySequence("Ctrl+K"), QKeySequence("Ctrl+Shift+P")])
        self.read = self._add(
            tools, "&Read tools…", lambda: do.catalog().read_selected(), icon="refresh"
        )
        self._add(tools, "Read &all tools…", lambda: do.catalog().read_tools(), "Shift+F5")
        self._add(
            tools,
            "&Sign in to a server…",
            lambda: do.catalog().sign_in_to_one(),
            icon="key-outline",
        )
        self._add(tools, "&Call the selected tool…", lambda: do.catalog().call_tool())
        self._add(tools, "&Export to hosts…", lambda: do.open_page("hosts"), "Ctrl+E")
        self._add(tools, "Open &log", lambda: show_log(window, self._services), icon="console-line")
        self._add(
            tools, "Press the page's &main button", lambda: do.page().primary(), "Ctrl+Return"
        )

    def _fill_help(self, menu: QMenu) -> None:
        window, do = self._window, self._actions
        self._add(menu, "&First steps", lambda: do.catalog().show_first_steps())
        self._add(menu, "&Shortcuts", lambda: show_shortcuts(window), "Ctrl+/")
        self._add(menu, "What do the &numbers mean?", lambda: show_numbers(window), "F1")
        self._add(menu, "&About Toolcrib", lambda: show_about(window))
        escape = QAction(self, shortcut=QKeySequence("Esc"))
        escape.triggered.connect(lambda _checked=False: do.page().escape())
        window.addAction(escape)

    def _add(
        self,
        menu: QMenu,
        text: str,
        call: Callable[[], object],
        keys: str = "",
        icon: str = "",
    ) -> QAction:
        action = menu.addAction(text)
        action.triggered.connect(lambda _checked=False: call())
        if keys:
            action.setShortcut(QKeySequence(keys))
        if icon:
            self._icons.append((action, icon))
        return action

    def _add_appearance(self, menu: QMenu) -> None:
        theme = self._services.theme
        group = QActionGroup(menu)
        for key, text in (("system", "&System"), ("light", "&Light"), ("dark", "&Dark")):
            action = menu.addAction(text)
            action.setCheckable(True)
            action.setData(key)
            action.triggered.connect(partial(self._choose_look, key))
            group.addAction(action)

        def check() -> None:  # it may have been chosen in the settings
            for action in group.actions():
                action.setChecked(action.data() == theme.appearance)

        menu.aboutToShow.connect(check)
        check()

    def _add_density(self, menu: QMenu) -> None:
        theme = self._services.theme
        dense = self._add(menu, "Compact ro&ws", lambda: self._set_dense(not theme.dense))
        dense.setCheckable(True)
        menu.aboutToShow.connect(lambda: dense.setChecked(theme.dense))

    def _set_dense(self, dense: bool) -> None:
        """Change the rows' height now, and keep it."""
        self._services.theme.set_dense(dense)
        self._services.ctx.keep(dense=dense)
        self._services.show_status("Compact rows" if dense else "Rows as usual")

    def _add_advanced(self, menu: QMenu) -> None:
        advanced = self._services.advanced
        every = self._add(menu, "Show ad&vanced", lambda: advanced.switch(on=not advanced.on))
        every.setCheckable(True)
        every.setToolTip("Profiles, query set, hooks, rules and HTTP, before they are needed")
        menu.aboutToShow.connect(lambda: every.setChecked(advanced.on))

    def _choose_look(self, key: str, _checked: bool = False) -> None:
        """Change the colours now, and keep the choice."""
        self._services.theme.choose(key)
        self._keep_look()

    def _zoom_by(self, percent: int) -> None:
        """Change the text's size now, and keep it."""
        theme = self._services.theme
        theme.set_zoom(theme.zoom + percent)
        self._services.show_status(f"Text at {theme.zoom} %")
        self._keep_look()

    def _keep_look(self) -> None:
        theme = self._services.theme
        self._services.ctx.keep(appearance=theme.appearance, zoom=theme.zoom)

    def open_settings(self, tab: str = "profile") -> None:
        """Everything that is set, in a dialog, with that tab in view."""
        from ui.windows.settings_dialog import SettingsDialog  # not needed for the window's start

        dialog = SettingsDialog(self._services, self._window)
        dialog.open_tab(tab)
        dialog.open()

    def _make_toolbar(self) -> None:
        do = self._actions
        self.bar = Toolbar(self._services.theme, self.read, [self.undo, self.redo])
        self.search, self.export = self.bar.search, self.bar.export
        self.search.clicked.connect(lambda: do.find())
        self.export.clicked.connect(lambda: do.open_page("hosts"))
        self._window.addToolBar(self.bar)

    def _export_report(self) -> None:
        from ui.shell.save_report import save_report  # as all of export, not needed at the start

        save_report(self._services, self._services.hosts.sizes, self._window)

    def _recolor(self) -> None:
        icons = self._services.theme.icons
        for action, name in self._icons:
            action.setIcon(icons.icon(name, "text"))
        self.bar.recolor()

    def entries(self) -> list[Entry]:
        """Every action of the menus that can be used now, for the palette."""
        return [
            Entry(COMMAND, text, action.shortcut().toString(), action.trigger)
            for text, action in _named(self._window.menuBar().actions())
            if action.isEnabled()
        ]


def _name_step(action: QAction, verb: str, step: str) -> None:
    """Name the step that the action takes; names in it are a server's."""
    action.setText(f"&{verb} {in_menu(step)}".strip())
    action.setToolTip(plain_tip(f"{verb} {step}".strip()))


def _named(actions: Iterable[QAction], before: str = "") -> Iterator[tuple[str, QAction]]:
    """Actions below menus with their words; those of a menu in a menu after its name."""
    for action in actions:
        menu, words = action.menu(), _menu_text(action.text())
        if isinstance(menu, QMenu):
            yield from _named(menu.actions(), f"{words}: " if before else " ")
        elif words:
            yield f"{before}{words}".strip(), action


def _menu_text(text: str) -> str:
    """A menu's words: & before a letter only underlines it, && is one that is shown."""
    return "&".join(part.replace("&", "") for part in text.split("&&"))
