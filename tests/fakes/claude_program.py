"""A program called `claude` as `claude -p` behaves: the question on its input, text on its output.

Its answer is as the model's is: a sentence, then JSON in a code fence. What it was asked goes to
the file $CLAUDE_LOG, a JSON line each time.
"""

import json
import os
import stat
import sys
from pathlib import Path

_BODY = """
import json, os, sys
text = sys.stdin.read()
with open(os.environ["CLAUDE_LOG"], "a", encoding="utf-8") as log:
    log.write(json.dumps({"arguments": sys.argv[1:], "text": text}) + "\\n")
rows = [json.loads(line) for line in text.splitlines()[1:]]
made = {str(r["number"]): [f"{w} {r['name']} please" for w in ("do", "try", "use")] for r in rows}
print("Here are the requests:\\n\\n```json\\n" + json.dumps(made, indent=2) + "\\n```")
"""


def install(folder: Path, log: Path) -> dict[str, str]:
    """Put the program into a folder; the variables that lead to it and to its log."""
    program = folder / "claude"
    folder.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!{sys.executable}\n{_BODY}", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "CLAUDE_LOG": str(log)}


def asked(log: Path) -> list[dict]:
    """Questions so far, with their arguments."""
    return (
        [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []
    )
