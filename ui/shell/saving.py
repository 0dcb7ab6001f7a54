"""Files of the user's choice: where one goes, and what became of it."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget

from app.core.errors import ToolcribError
from app.core.safe_write import write_file
from ui.shell.services import Services
from ui.widgets.named import named


def choose_file(
    parent: QWidget, title: str, start: Path, kinds: str, take: Callable[[Path], object]
) -> None:
    """Let the user choose where to save a file, at first `start`, and give that to `take`."""
    dialog = named(QFileDialog(parent, title, str(start), kinds), name="saveFile")
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix(start.suffix)
    dialog.selectFile(str(start))
    dialog.fileSelected.connect(lambda path: take(Path(path)))
    dialog.finished.connect(dialog.deleteLater)
    dialog.open()


def write_chosen(services: Services, path: Path, text: str, what: str) -> None:
    """Write a text to a file that the user chose, and say so, or why not."""
    try:
        write_file(path, text.encode())
    except (OSError, ToolcribError) as error:
        reason = error.title if isinstance(error, ToolcribError) else error.strerror
        services.show_status(f"Not written: {path}: {reason}")
    else:
        services.show_status(f"{what} written to {path}")
