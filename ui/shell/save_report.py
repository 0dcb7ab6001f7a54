"""The report on what hosts' models get, to a file of the user's choice."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget

from app.core.errors import ToolcribError
from app.core.safe_write import write_file
from app.core.text import plural
from app.host_status.report import FORMS, report_of, written
from app.host_status.sizes import HostSize
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
    start = str(services.places.home / f"{name}.md")
    dialog = QFileDialog(parent, "Export report", start, _KINDS)
    dialog.setObjectName("saveReport")
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.selectFile(start)
    dialog.fileSelected.connect(lambda path: _save(services, sizes, Path(path), catalog.encoding))
    dialog.finished.connect(dialog.deleteLater)
    dialog.open()


def _save(services: Services, sizes: Sequence[HostSize], path: Path, encoding: str) -> None:
    form = path.suffix.lstrip(".").lower()
    if form not in FORMS:
        form, path = "md", path.with_name(f"{path.name}.md")
    text = written(report_of(sizes), form, encoding)
    try:
        write_file(path, text.encode())
    except (OSError, ToolcribError) as error:
        reason = error.title if isinstance(error, ToolcribError) else error.strerror
        services.show_status(f"Not written: {path}: {reason}")
        return
    services.show_status(f"Report on {plural(len(sizes), 'host')} written to {path}")
