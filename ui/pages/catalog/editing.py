"""Editing, renaming and duplicating servers: forms that begin with what a server is now."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QMenu, QWidget

from app.catalog.named_twice import named_twice
from app.core.context import Db
from app.core.errors import ToolcribError
from app.core.text import plural
from app.export.entries.plan import load_entry
from app.export.plan import EDIT, REMOVE, EntryChange
from app.hosts.facts import host
from app.hosts.launch import LaunchSpec
from app.registry.importing import edit_server
from app.registry.own_servers import bring_back, given_with, is_own, remove_own
from app.registry.register import stored_launch
from app.secrets.secret_store import SecretStore
from store.records import EntryRecord, ServerRecord
from ui.look.text import in_menu
from ui.pages.catalog.add_server import AddServerDialog
from ui.shell.host_names import entry_place, host_entries
from ui.shell.services import Services
from ui.shell.steps import Step, store_step
from ui.shell.tasks import Tasks

if TYPE_CHECKING:
    from app.core.changes import Changes

Launched = tuple[str, LaunchSpec]  # name and launch


def _edit(services: Services, server_id: int, before: Launched, after: Launched) -> Step:
    """One server is started otherwise, or has another name; undo gives back what it was."""

    def save(db: Db, launched: Launched) -> "Changes":
        catalog = services.live.catalog
        servers = catalog.servers if catalog else ()
        server = next((one for one in servers if one.id == server_id), None)
        if server is None:
            raise ToolcribError("This server is no longer in the catalog.")
        return edit_server(services.ctx, db, server, *launched)

    return store_step(
        services.tasks,
        f"Edit {before[0]}",
        lambda db: save(db, after),
        lambda db: save(db, before),
        keychain=True,
    )


def _removal(tasks: Tasks, servers: Sequence[ServerRecord]) -> Step:
    """Servers that no host's file names leave the catalog; undo brings them back as they were."""
    name = servers[0].name if len(servers) == 1 else plural(len(servers), "server")
    return store_step(
        tasks,
        f"Remove {name}",
        lambda db: remove_own(db, servers),
        lambda db: bring_back(db, servers),
    )


class ServerForms(QObject):
    """Opens the form for a server once its secret values were fetched.

    Signals: added(Discovery) of a duplicate.
    """

    added = Signal(object)

    def __init__(self, services: Services, over: QWidget) -> None:
        super().__init__(over)
        self._services, self._over = services, over

    def edit(self, server: ServerRecord) -> None:
        """Edit a server of Toolcrib's own, or an entry of a host's file that names it."""
        if is_own(server):
            self._fetch(server, edits=True)
        else:
            self._change_one(server, EDIT)

    def remove_added(self, server: ServerRecord) -> None:
        """Take out an own server with all that came in the same file."""
        catalog = self._services.live.catalog
        if catalog is not None and is_own(server):
            gone = given_with(server, catalog.servers)
            self._services.undo.push(_removal(self._services.tasks, gone))
        else:
            self._services.show_status(f"{server.name} is in a host's file: remove it on its own.")

    def remove(self, server: ServerRecord) -> None:
        """Take out a server of Toolcrib's own, or an entry of a host's file that names it."""
        if is_own(server):
            self._services.undo.push(_removal(self._services.tasks, [server]))
        elif twice := named_twice(server):  # the name that is one too many
            self.change(twice[0].spare, REMOVE)
        else:
            self._change_one(server, REMOVE)

    def change(self, entry: EntryRecord, kind: str) -> None:
        """Show on the Hosts page what changing an entry would write; after the form for an edit."""
        if kind != EDIT:
            self._preview(EntryChange(entry, kind))
            return
        self._load(entry, lambda launch: self._open_entry(entry, launch))

    def _open_entry(self, entry: EntryRecord, launch: LaunchSpec | None) -> None:
        if launch is None:
            self._services.show_status(f"The command of {entry.name} is not known.")
            return
        where = host(entry.host).name
        form = AddServerDialog(
            self._services, self._over, filled=(entry.name, launch), edits=True, where=where
        )
        form.edited.connect(
            lambda name, typed: self._preview(EntryChange(entry, EDIT, name, _kept(launch, typed)))
        )
        form.open()

    def _preview(self, change: EntryChange) -> None:
        self._services.open_page("hosts")
        self._services.hosts.entry_wanted.emit(change)

    def _change_one(self, server: ServerRecord, kind: str) -> None:
        """Change the entry of a host's file; let the user choose where there are several."""
        entries = host_entries(server)
        if len(entries) == 1:
            self.change(entries[0], kind)
        elif entries:
            menu = QMenu(self._over)
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.setObjectName("serverPlaces")
            verb = "Remove from" if kind == REMOVE else "Edit in"
            for entry in entries:
                words = in_menu(f"{verb} {entry_place(server, entry)}…")
                menu.addAction(words, partial(self.change, entry, kind))
            menu.setActiveAction(menu.actions()[0])
            menu.popup(QCursor.pos())

    def duplicate(self, server: ServerRecord) -> None:
        """Add another server that begins like this one."""
        entries = host_entries(server)
        if entries:  # the values are in the file, not in Toolcrib's secret store
            self._load(entries[0], lambda launch: self._open(server, launch, edits=False))
        else:
            self._fetch(server, edits=False)

    def _load(self, entry: EntryRecord, done: Callable[[LaunchSpec | None], None]) -> None:
        """Read an entry of a host's file, with its values."""
        places = self._services.places
        self._services.tasks.request(
            lambda db: load_entry(db, places, entry).entry.launch, done, self._services.show_error
        )

    def _fetch(self, server: ServerRecord, *, edits: bool) -> None:
        ctx = self._services.ctx
        self._services.tasks.request(
            lambda _db: stored_launch(server, SecretStore.open(ctx.paths)),
            lambda launch: self._open(server, launch, edits=edits),
            lambda error: self._services.show_status(error.title),
            keychain=True,
        )

    def _open(self, server: ServerRecord, launch: LaunchSpec | None, *, edits: bool) -> None:
        if launch is None:
            self._services.show_status(f"The command of {server.name} is not known.")
            return
        name = server.name if edits else f"{server.name}-copy"
        form = AddServerDialog(self._services, self._over, filled=(name, launch), edits=edits)
        form.added.connect(self.added)
        before = (server.name, launch)
        form.edited.connect(
            lambda name, changed: self._services.undo.push(
                _edit(self._services, server.id, before, (name, _kept(launch, changed)))
            )
        )
        form.open()


def _kept(launch: LaunchSpec, typed: LaunchSpec) -> LaunchSpec:
    """The typed launch, with the parts that the form leaves out: transport, folder and the like."""
    return replace(
        launch,
        command=typed.command,
        args=typed.args,
        env=typed.env,
        url=typed.url,
        headers=typed.headers,
    )
