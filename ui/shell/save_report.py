"""The report on what hosts' models get, to a file of the user's choice."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.core.text import plural
from app.host_status.report import FORMS, report_of, written
from app.host_status.sizes import HostSize
from ui.shell.saving import choose_file, write_chosen
from ui.shell.services import Services

_KINDS = "Markdown (*.md);;CSV table (*.csv);;JSON (*.json)"


def save_report(services: Services, sizes: Sequence[HostSize], parent: QWidget) -> None:
    """Let the user choose a file; the form follows its ending."""
    catalog = services.live.catalog
    if not sizes or catalog is None:
        services.show_status(
            "No host of this computer has a server yet: there is nothing to report."
        )
        return
    name = f"toolcrib-{sizes[0].facts.id}" if len(sizes) == 1 else "toolcrib-hosts"

    def save(path: Path) -> None:
        form = path.suffix.lstrip(".").lower()
        if form not in FORMS:
            form, path = "md", path.with_name(f"{path.name}.md")
        text = written(report_of(sizes), form, catalog.encoding)
        write_chosen(services, path, text, f"Report on {plural(len(sizes), 'host')}")

    choose_file(parent, "Export report", services.places.home / f"{name}.md", _KINDS, save)
