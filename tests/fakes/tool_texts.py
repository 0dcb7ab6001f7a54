"""Made tool texts that differ in subject, length and script."""

from itertools import islice, product

VERBS = {
    "create": "Create a new {thing}",
    "list": "List every {thing} that you may see, newest first",
    "delete": "Delete one {thing}; this cannot be undone",
    "search": "Search the {thing} index with a query in plain words",
    "export": "Write each {thing} to a CSV file and return its path",
    "watch": "Wait until a {thing} changes and say what changed",
}
THINGS = [
    "issue",
    "pull_request",
    "branch",
    "commit",
    "file",
    "folder",
    "database_row",
    "dashboard",
    "alert",
    "invoice",
    "calendar_event",
    "contact",
    "email_thread",
    "web_page",
    "screenshot",
    "container",
    "pod",
    "secret",
    "message",
    "channel",
    "spreadsheet",
    "slide_deck",
    "video",
    "playlist",
    "map_route",
    "weather_forecast",
    "stock_price",
    "translation",
    "embedding",
    "test_run",
    "build",
    "log_line",
    "metric",
    "user_group",
]
PLACES = (
    "",
    " in the workspace.",
    " on the given server. `limit` cuts the answer (default 50), `cursor` goes on from there.",
    " для выбранного проекта",
    " 在指定的项目中",
    "\n\nUse this only after signing in. Returns JSON with id, title, state and time stamps. "
    + "Fields that are empty are left out. " * 20,
)


def tool_texts(count: int = 200) -> list[str]:
    """`count` different texts of the form "split name: description"."""
    made = (
        f"{verb} {thing.replace('_', ' ')}: {text.format(thing=thing.replace('_', ' '))}"
        f"{PLACES[(i + len(thing)) % len(PLACES)]}"
        for i, (thing, (verb, text)) in enumerate(product(THINGS, VERBS.items()))
    )
    return list(islice(made, count))
