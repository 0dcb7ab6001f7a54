"""The help that fits into a dialog: shortcuts, what the numbers mean, about."""

from PySide6.QtWidgets import QWidget

from app.core.own_code import own_version
from ui.look.glossary import TERMS
from ui.look.text import html_table
from ui.widgets.dialog import show_html

SHORTCUTS = (
    ("Ctrl+1 to 6", "Catalog, Playground, Budget, Review, Hosts, Activity"),
    ("Ctrl+K", "Find a tool, a server or a command"),
    ("Ctrl+F, /", "Filter of the page"),
    ("Ctrl+=, Ctrl+-, Ctrl+0", "Larger text, smaller text, as usual"),
    ("Alt+Left, Alt+Right", "Back, forward through the sections"),
    ("F6, Shift+F6", "Next, previous pane"),
    ("F5, Shift+F5", "Refresh the page (in the Catalog: read tools), read all tools"),
    ("Ctrl+E", "Export to hosts"),
    ("Ctrl+O", "Open a config file"),
    ("Ctrl+N", "Add a server, or paste a config"),
    ("Space", "Turn the selected tools on or off"),
    ("+, -, *", "Expand, collapse, expand all"),
    ("P", "Pin the selected tools"),
    ("W", "Why? Try the tool in the Playground"),
    ("T", "Call the tool by hand"),
    ("J, K", "Next, previous tool in Review"),
    ("Ctrl+Z, Ctrl+Shift+Z", "Undo, redo"),
    ("Ctrl+H", "All steps, to go back to any"),
    ("Ctrl+,", "Settings"),
    ("Ctrl+Enter", "The page's main button"),
    ("Ctrl+C", "Copy the selected rows"),
    ("Esc", "Clear the filter, leave the treemap's zoom"),
)


def show_shortcuts(parent: QWidget) -> None:
    """The keyboard map."""
    show_html(parent, "Shortcuts", html_table(SHORTCUTS))


def show_numbers(parent: QWidget) -> None:
    """The words behind the numbers."""
    show_html(parent, "What do the numbers mean?", html_table(TERMS))


def show_about(parent: QWidget) -> None:
    """Name, version, licences."""
    text = (
        f"<h3>Toolcrib {own_version()}</h3><p>See what your MCP servers cost, switch tools"
        " off, and write trimmed host configs.</p><p>MIT licence. Icons: Material Design Icons"
        " (Apache-2.0). Model: all-MiniLM-L6-v2 (Apache-2.0).</p>"
    )
    show_html(parent, "About Toolcrib", text)
