"""Servers that could be installed, where no tool fits the query: named, and no more than that."""

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QWidget

from app.market.index import MarketSearches
from app.market.suggestion import MOST, Installable, installable
from app.ranking.dense import Encoding
from ui.look.theme import GAP
from ui.shell.services import Services
from ui.widgets.badge import Badge, BadgeText
from ui.widgets.boxes import hbox
from ui.widgets.elided import ElidedLabel
from ui.widgets.label import PlainLabel
from ui.widgets.push_button import push_button

BADGE = BadgeText("Not installed", "neutral", "plus")
NONE_FITS = "No tool of yours fits. A listed server may have one."
TO_MODELS = "A model that searches gets these names too, and can ask you to add one."
ONLY_HERE = "Models do not get these names. Settings, Profile, can change that."


class NotInstalled(QWidget):
    """Listed servers for a query that no tool fits, and the way to the lists.

    Signals: wanted(query) for Find servers.
    """

    wanted = Signal(str)

    def __init__(self, services: Services, encoder: Callable[[], Encoding | None]) -> None:
        super().__init__()
        self._services, self._encoder = services, encoder
        self._query: tuple[str, bool] = ("", False)
        self._searches = MarketSearches()  # of the store thread: it holds the lists' vectors
        self.none_fits = PlainLabel(NONE_FITS)
        self.badges = [Badge(services.theme, BADGE) for _ in range(MOST)]
        self.names = [ElidedLabel() for _ in range(MOST)]
        self.button = push_button("Find servers…", lambda: self.wanted.emit(self._query[0]))
        rows = QGridLayout()
        rows.setHorizontalSpacing(GAP)
        rows.setVerticalSpacing(GAP // 2)
        rows.setColumnStretch(1, 1)
        rows.addWidget(self.none_fits, 0, 0, 1, 2)
        for number, (badge, name) in enumerate(zip(self.badges, self.names, strict=True)):
            rows.addWidget(badge, number + 1, 0)
            rows.addWidget(name, number + 1, 1)
        hbox((rows, 1), self.button, inside=self)
        self.hide()

    def show_for(self, query: str) -> None:
        """Look for listed servers; "" for a query that a tool fits."""
        encoder = self._encoder()
        if not query:
            self._query = ("", False)
            self._services.tasks.overtake(self)
            self.hide()
        elif self._query != (query, encoder is not None):
            self._query = (query, encoder is not None)
            self._show(())
            self._services.tasks.latest(
                self, lambda db: installable(self._searches.over(db, encoder), query), self._show
            )

    def _show(self, servers: tuple[Installable, ...]) -> None:
        catalog = self._services.live.catalog
        to_models = catalog is not None and catalog.settings.gateway.marketplace
        for number, (badge, name) in enumerate(zip(self.badges, self.names, strict=True)):
            known = servers[number] if number < len(servers) else None
            badge.setToolTip(TO_MODELS if to_models else ONLY_HERE)
            badge.setVisible(known is not None)
            name.setVisible(known is not None)
            name.setText(known.text if known is not None else "")
        self.none_fits.setVisible(not servers)
        self.show()
