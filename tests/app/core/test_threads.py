"""Threads that import lazily do not meet a half imported `typing`."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# `typing` takes half a second to import; a class with fields is made meanwhile on another thread
SCRIPT = """
import dataclasses, importlib.machinery, sys, threading, time
sys.path.insert(0, sys.argv[1])
sys.modules.pop("typing", None)
entered = threading.Event()

class Slow(importlib.machinery.SourceFileLoader):
    def exec_module(self, module):
        entered.set()
        time.sleep(0.5)
        super().exec_module(module)

class Finder(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        spec = super().find_spec(name, path, target) if name == "typing" else None
        if spec is not None:
            spec.loader = Slow(spec.loader.name, spec.loader.path)
        return spec

sys.meta_path.insert(0, Finder)
failures = []

def make():
    try:
        dataclasses.make_dataclass("Made", [("field", "int")])
    except AttributeError as error:
        failures.append(error)

def imports():
    import typing

if sys.argv[2] == "bare":
    def run(target):
        thread = threading.Thread(target=target)
        thread.start()
        return thread
else:
    from app.system.threads import start_thread as run
first = run(imports)
entered.wait(10)
second = run(make)
first.join()
second.join()
print("failed" if failures else "made")
"""


@pytest.mark.parametrize(("way", "outcome"), [("bare", "failed"), ("started", "made")])
def test_a_class_is_made_while_another_thread_imports_typing(way, outcome):
    if way == "bare" and sys.version_info >= (3, 12):
        pytest.skip("shows the fault of CPython 3.11")
    command = [sys.executable, "-S", "-c", SCRIPT, str(ROOT), way]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    assert answer.stdout.strip() == outcome
