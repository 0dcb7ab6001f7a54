"""Hooks before prompts: in hosts' files, written and taken out, and how they stand."""
