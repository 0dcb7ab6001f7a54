"""Says which tools of real lists the shipped requests are found by, and which have changed since.

Usage: pack.py FOLDER   (of fresh_servers.py with pack_servers.toml; 1 when a tool has none)
A tool that has none is printed as its line begins in resources/requests: a tab, then its requests.

A tool's requests are found by the hash of its name and description: a server's new version loses
those of the tools whose text it changed. They are then written anew, from the new text only.
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from app.ranking.requests import pack_key, read_pack  # noqa: E402
from store.hashes import text_hash  # noqa: E402

LISTS = "fresh_catalog.jsonl"


def main(folder: Path) -> int:
    """A line a server; below it a file's line for each tool that the pack does not know."""
    lists = folder / LISTS
    if not lists.is_file():
        print(f"{lists} is not there: fresh_servers.py makes it", file=sys.stderr)
        return 1
    pack = read_pack()
    unknown = 0
    for line in lists.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        new = [
            f"{key}\t{tool['name']}" for tool in row["tools"] if (key := key_of(tool)) not in pack
        ]
        unknown += len(new)
        total = len(row["tools"])
        print(f"{row['package']}: {total - len(new)} of {total} tools.", *new, sep="\n")
    return 1 if unknown else 0


def key_of(tool: dict[str, object]) -> str:
    """What the pack has a listed tool under, as app/ranking/requests.py makes it."""
    words = str(tool.get("description") or "").split()
    return pack_key(text_hash(f"{tool['name']}\0{' '.join(words)}"))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
