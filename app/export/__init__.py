"""Trimmed host configs: diff first, then write, then undo."""
