"""What a gateway's process loads until its first call is answered: memory of every host's own."""

from pathlib import Path

import pytest
import raw_host

ROOT = Path(__file__).parents[3]
# what it costs in kB of memory, and what would bring it
NEEDLESS = {
    "hashlib": "3,500: a launch or a tool that is digested",
    "logging": "1,200: a log that is opened while all goes well",
    "tempfile": "700: importlib.resources, with shutil, random and the two compressors",
    "zipfile": "300: importlib.resources",
    "platformdirs": "300: the home folder",
    "numpy": "20,000: the encoder before a search",
    "onnxruntime": "60,000: the encoder before a search",
    "psutil": "1,500: process trees where /proc tells them",
    "asyncio": "3,000: threads serve",
    "pydantic": "20,000: the SDK",
    "app.indexing.ingest_process": "0: a list that agrees with the store needs no process",
    "app.indexing.ingest": "30,000: tokenizers, in the serving process",
    "app.safety.classifier": "1,000: a result that no rule matches",
}
SETTINGS = {"TOOLCRIB_STANDALONE": "1", "PYTHONPROFILEIMPORTTIME": "1", "PYTHONPATH": str(ROOT)}


def modules(file: Path) -> set[str]:
    """The modules that a process has imported, as Python writes them on its stderr."""
    rows = file.read_text(encoding="utf-8", errors="replace").splitlines()
    return {row.rpartition("|")[2].strip() for row in rows if row.startswith("import time:")}


@pytest.mark.parametrize("mode", ["pruned", "through"])
def test_a_first_call_loads_no_more_than_it_needs(stocked, home, tmp_path, mode):
    stocked({"probe": "ok"})
    words = ["--server", "probe"] if mode == "pruned" else []
    errors = tmp_path / "imports.txt"
    with errors.open("wb") as stderr:
        command = raw_host.gateway_command("--profile", "default", *words)
        env = {**SETTINGS, "TOOLCRIB_HOME": str(home)}
        host = raw_host.RawHost(command, env, stderr=stderr)
        try:
            host.initialize()
            host.tools()
            call = host.call if mode == "pruned" else lambda n, a: host.run(f"probe/{n}", a)
            assert raw_host.text(call("echo", {"text": "once"})) == "once"
            loaded = modules(errors)
        finally:
            host.close()
    assert {"app.gateway.standalone", "re2", "app.mcp.stdio"} <= loaded
    assert {name: NEEDLESS[name] for name in NEEDLESS.keys() & loaded} == {}
