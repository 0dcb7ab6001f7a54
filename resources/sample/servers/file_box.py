"""A folder of text files."""

import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

from servers.kit import Kit, ToolError, flag, maybe, number, text

START = {
    "readme.txt": "This folder belongs to the sample file server of Toolcrib.\n",
    "plans/garden.md": "# Garden\n- plant tomatoes in May\n- mend the fence\n",
    "plans/trip.md": "# Trip to Lisbon\n- book the train\n- find a place near the river\n",
}


def make(folder: Path) -> Kit:
    """The tools of the file server, over one folder that they cannot leave."""
    kit = Kit("Works on a small sandbox folder. Paths are relative to it, with forward slashes.")
    root = (folder / "box").resolve()
    if not root.exists():
        for name, content in START.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(content, encoding="utf-8")
    where = "Path of the file, relative to the sandbox folder"

    def at(path: str) -> Path:
        target = (root / path).resolve()
        if not target.is_relative_to(root):
            raise ToolError(f"{path} is outside of the sandbox folder.")
        return target

    def shown(path: Path) -> str:
        return path.relative_to(root).as_posix() + ("/" if path.is_dir() else "")

    @kit.tool(
        "Read the whole content of a text file. Use head to get only its first lines, for instance "
        "of a long log file.",
        reads=True,
        path=text(where),
        head=maybe(number("Return only this many lines from the beginning", minimum=1)),
    )
    def read_text_file(path: str, head: int = 0) -> str:
        lines = at(path).read_text(encoding="utf-8").splitlines(keepends=True)
        return "".join(lines[:head] if head else lines)

    @kit.tool(
        "Create a new text file or completely overwrite an existing one with new content. Existing "
        "content is lost without a warning.",
        destroys=True,
        path=text(where),
        content=text("The complete new content of the file"),
    )
    def write_text_file(path: str, content: str) -> str:
        at(path).parent.mkdir(parents=True, exist_ok=True)
        at(path).write_text(content, encoding="utf-8")
        return f"Wrote {len(content)} characters to {path}."

    @kit.tool(
        "Add text to the end of a file and keep what is already in it. The file is created when it "
        "does not exist.",
        path=text(where),
        content=text("The text to add; start it with a line break if one is wanted"),
    )
    def append_to_file(path: str, content: str) -> str:
        with at(path).open("a", encoding="utf-8") as file:
            file.write(content)
        return f"Appended {len(content)} characters to {path}."

    @kit.tool(
        "List the files and folders directly inside a folder. Names of folders end with a slash.",
        reads=True,
        path=maybe(text("Folder to list"), "."),
    )
    def list_directory(path: str) -> str:
        return "\n".join(sorted(shown(item) for item in at(path).iterdir()))

    @kit.tool(
        "Get a recursive tree of all files and folders below a folder, as an indented text.",
        reads=True,
        path=maybe(text("Folder to start from"), "."),
    )
    def directory_tree(path: str) -> str:
        base = at(path)
        items = sorted(base.rglob("*"))
        return "\n".join("  " * (len(i.relative_to(base).parts) - 1) + i.name for i in items)

    @kit.tool(
        "Search for files whose name matches a pattern such as *.md, in all subfolders. With "
        "contains, only files that hold this text are returned.",
        reads=True,
        pattern=text("File name pattern with * and ?"),
        contains=maybe(text("Text that the file must contain")),
    )
    def search_files(pattern: str, contains: str = "") -> list[str]:
        files = [path for path in sorted(root.rglob(pattern)) if path.is_file()]
        return [shown(p) for p in files if contains in p.read_text(encoding="utf-8")]

    @kit.tool(
        "Move a file or folder to another place, or rename it. Fails when the destination exists.",
        source=text("Present path"),
        destination=text("New path"),
    )
    def move_file(source: str, destination: str) -> str:
        if at(destination).exists():
            raise ToolError(f"{destination} exists already.")
        at(destination).parent.mkdir(parents=True, exist_ok=True)
        at(source).rename(at(destination))
        return f"Moved {source} to {destination}."

    @kit.tool(
        "Copy a file to another path inside the sandbox folder.",
        source=text("File to copy"),
        destination=text("Path of the copy"),
    )
    def copy_file(source: str, destination: str) -> str:
        at(destination).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(at(source), at(destination))
        return f"Copied {source} to {destination}."

    @kit.tool(
        "Delete a file, or a folder when recursive is set. This cannot be undone.",
        destroys=True,
        path=text("File or folder to delete"),
        recursive=flag("Also delete a folder with everything in it"),
    )
    def delete_file(path: str, recursive: bool) -> str:
        target = at(path)
        if target == root:
            raise ToolError("The sandbox folder itself stays.")
        if target.is_dir() and not recursive:
            raise ToolError(f"{path} is a folder; set recursive to delete it.")
        shutil.rmtree(target) if target.is_dir() else target.unlink()
        return f"Deleted {path}."

    @kit.tool(
        "Get size, type and time of the last change of a file or folder, without its content.",
        reads=True,
        path=text(where),
    )
    def get_file_info(path: str) -> dict[str, Any]:
        about = at(path).stat()
        changed = datetime.fromtimestamp(about.st_mtime).isoformat(timespec="seconds")
        kind = "folder" if at(path).is_dir() else "file"
        return {"path": path, "type": kind, "bytes": about.st_size, "changed": changed}

    @kit.tool(
        "Create a folder, and the folders above it if needed. Nothing happens when it exists.",
        path=text("Folder to create"),
    )
    def create_directory(path: str) -> str:
        at(path).mkdir(parents=True, exist_ok=True)
        return f"Created {path}."

    return kit
