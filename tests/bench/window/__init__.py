"""Measurements of the window: `python -m tests.bench.window.NAME HOME`."""
