"""The host whose number is always in view: what its model gets now, against its budget."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.catalog.catalog import Catalog, CatalogTool
from app.policy.budget import Budget, Verdict, verdict, verdict_on
from store.records import AS_IS
from ui.shell.live_catalog import LiveCatalog

if TYPE_CHECKING:
    from app.host_status.sizes import HostSize
    from app.host_status.status import HostStatus

WORST, EVERY = "", "*"  # choices beside the ids of hosts, as app.host_status.sizes takes them
UNREAD = "Nothing is read yet"  # in place of a verdict
COUNTING = "Tokens are being counted"


class HostInView(QObject):
    """Every host's size, and one of them that strip, badges and proposals follow.

    Sizes follow ticks at once; how hosts get their tools is as the last look at their files found
    it. Signals: changed(); chosen() by the user; entry_wanted(EntryChange) when a server's entry in
    a host's file is to be changed, which the Hosts page then shows.
    """

    changed = Signal()
    chosen = Signal()
    entry_wanted = Signal(object)

    def __init__(self, live: LiveCatalog, choice: str = WORST) -> None:
        super().__init__(live)
        self._live = live
        self._statuses: tuple[HostStatus, ...] = ()
        self._counted: tuple[Sequence[CatalogTool], object, Verdict] | None = None
        self._read = ""  # id of the host whose page is read
        self._before: dict[str, int] = {}  # tokens of a host before it was written in this session
        self.choice = choice  # a host's id, WORST, or EVERY for the sum over all servers
        self.sizes: tuple[HostSize, ...] = ()
        live.altered.connect(self._measure)

    @property
    def size(self) -> "HostSize | None":
        """The host in view; None for the sum, and where no host of this computer has a server.

        The host whose page is read comes first, also where it has no server.
        """
        return self._in_view(self._read)

    def _in_view(self, host_id: str) -> "HostSize | None":
        read = self._size_of(host_id) if host_id else None
        if read is not None or not self.sizes:
            return read
        from app.host_status.sizes import (
            in_view,  # as all of export, not needed for the window's start
        )

        return in_view(self.sizes, self.choice)

    def _size_of(self, host_id: str) -> "HostSize | None":
        known = next((size for size in self.sizes if size.facts.id == host_id), None)
        status = next((one for one in self._statuses if one.host.id == host_id), None)
        if known is not None or status is None or self._live.catalog is None:
            return known
        from app.host_status.sizes import host_size
        from app.host_status.status import NOT_FOUND

        return host_size(status, status.catalog) if status.state != NOT_FOUND else None

    @property
    def saving(self) -> int:
        """Tokens that the host in view gets less than before it was written, 0 for none.

        None where its file is as is: it was not Toolcrib's write that left it with less.
        """
        size = self.size
        if size is None or size.mode == AS_IS:
            return 0
        return max(0, self._before.get(size.facts.id, 0) - size.verdict.tokens)

    @property
    def unread(self) -> str:
        """Reason for having no number to judge: nothing is read, or not counted yet; "" else."""
        catalog = self._live.catalog
        if catalog is None or not (catalog.tools or any(s.read_at for s in catalog.servers)):
            return UNREAD
        some = [tool for tool in catalog.tools if not tool.tool.gone]
        return COUNTING if some and all(tool.tokens is None for tool in some) else ""

    @property
    def partial(self) -> bool:
        """True while tools are still counted: a number so far is no ground for a verdict."""
        catalog = self._live.catalog
        usable = catalog.tools if catalog is not None else ()
        return any(t.tokens is None and not (t.tool.gone or t.tool.problem) for t in usable)

    @property
    def verdict(self) -> Verdict:
        """Of the host in view, else of everything that is on."""
        return self._verdict_of(self.size)

    @property
    def lasting_verdict(self) -> Verdict:
        """Verdict that stays in view when the Hosts page is left."""
        return self._verdict_of(self._in_view(self._read if self._read in self._before else ""))

    def _verdict_of(self, size: "HostSize | None") -> Verdict:
        catalog = self._live.catalog
        if size is not None:
            return size.verdict
        return self._verdict_on(catalog) if catalog else verdict(0, 0, Budget())

    def _verdict_on(self, catalog: Catalog) -> Verdict:
        """Counted once for the same tools: several parts of the window ask after every change."""
        tools, budget = catalog.tools, catalog.settings.budget
        known = self._counted
        if known is None or known[0] is not tools or known[1] != budget:
            known = self._counted = (tools, budget, verdict_on(catalog))
        return known[2]

    @property
    def tools(self) -> Sequence[CatalogTool]:
        """Tools that the verdict is about, the gateway's menu aside."""
        size, catalog = self.size, self._live.catalog
        return size.sent.tools if size else catalog.shown if catalog else ()

    def choose(self, choice: str) -> None:
        """Follow another host, as the user wants it."""
        self.choice, self._read = choice, ""
        self.changed.emit()
        self.chosen.emit()

    def read(self, host_id: str) -> None:
        """Follow the host whose page is read."""
        if host_id != self._read:
            self._read = host_id
            self.changed.emit()

    def leave(self) -> None:
        """The page is read no more; a host that was written stays in view."""
        if self._read and self._read not in self._before:
            self._read = ""
            self.changed.emit()

    def wrote(self, host_id: str, before: int) -> None:
        """A host was written that got so many tokens before."""
        self._before.setdefault(host_id, before)

    def take(self, statuses: "Sequence[HostStatus]") -> None:
        """Take the hosts' states, as their files were just read."""
        self._statuses = tuple(statuses)
        self._measure()

    def _measure(self) -> None:
        catalog = self._live.catalog
        if catalog is not None and self._statuses:
            from app.host_status.sizes import host_sizes

            self.sizes = host_sizes(self._statuses, catalog)
        self.changed.emit()
