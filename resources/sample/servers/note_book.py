"""Notes with tags and links."""

from collections import Counter
from pathlib import Path
from typing import Any

from servers.kit import Kit, RecordFile, maybe, number, text, texts

START = [
    {"title": "Bread", "body": "500 g flour, 350 g water, 10 g salt.", "tags": ["kitchen"]},
    {"title": "Books to read", "body": "The Summer Book; Kindred.", "tags": ["reading"]},
]


def make(folder: Path) -> Kit:
    """The tools of the note server."""
    kit = Kit("A small notebook. Search before you create, so that no note is kept twice.")
    notes = RecordFile(folder / "notes.json", [{**note, "links": []} for note in START])
    which = number("Id of the note, as given by list_notes or search_notes")

    @kit.tool(
        "Create a new note with a title, a body in Markdown and optional tags. Returns its id.",
        title=text("Short title"),
        body=text("Content in Markdown"),
        tags=maybe(texts("Words to find the note by")),
    )
    def create_note(title: str, body: str, tags: list[str] | None = None) -> dict[str, Any]:
        return notes.add(title=title, body=body, tags=tags or [], links=[])

    @kit.tool("Read one note with its body, tags and links.", reads=True, note_id=which)
    def read_note(note_id: int) -> dict[str, Any]:
        return notes.one(note_id)

    @kit.tool(
        "List id and title of all notes, or only of those with a certain tag.",
        reads=True,
        tag=maybe(text("Only notes with this tag")),
    )
    def list_notes(tag: str = "") -> list[dict[str, Any]]:
        matches = [note for note in notes.all() if not tag or tag in note["tags"]]
        return [{"id": note["id"], "title": note["title"]} for note in matches]

    @kit.tool(
        "Full-text search over the titles and bodies of all notes; all words must occur.",
        reads=True,
        query=text("Words to look for"),
    )
    def search_notes(query: str) -> list[dict[str, Any]]:
        return notes.search(query, "title", "body")

    @kit.tool(
        "Add a paragraph to the end of an existing note.",
        note_id=which,
        paragraph=text("Text to add, in Markdown"),
    )
    def append_to_note(note_id: int, paragraph: str) -> dict[str, Any]:
        return notes.change(note_id, body=f"{notes.one(note_id)['body']}\n\n{paragraph}")

    @kit.tool(
        "Replace the title or the body of a note; what is not given stays as it is.",
        note_id=which,
        title=maybe(text("New title")),
        body=maybe(text("New content in Markdown")),
    )
    def update_note(note_id: int, **changes: str) -> dict[str, Any]:
        return notes.change(note_id, **changes)

    @kit.tool(
        "Put tags on a note. Tags that it already has are kept.",
        note_id=which,
        tags=texts("Tags to add"),
    )
    def tag_note(note_id: int, tags: list[str]) -> dict[str, Any]:
        return notes.change(note_id, tags=sorted({*notes.one(note_id)["tags"], *tags}))

    @kit.tool("List all tags in use with the number of notes that carry each.", reads=True)
    def list_tags() -> dict[str, int]:
        return dict(Counter(tag for note in notes.all() for tag in note["tags"]))

    @kit.tool(
        "Connect two notes, so that each shows the other as related.",
        note_id=which,
        other_id=number("Id of the other note"),
    )
    def link_notes(note_id: int, other_id: int) -> str:
        for one, other in ((note_id, other_id), (other_id, note_id)):
            notes.change(one, links=sorted({*notes.one(one)["links"], notes.one(other)["id"]}))
        return f"Notes {note_id} and {other_id} are linked."

    @kit.tool("Delete a note for good.", destroys=True, note_id=which)
    def delete_note(note_id: int) -> dict[str, Any]:
        return notes.remove(note_id)

    return kit
