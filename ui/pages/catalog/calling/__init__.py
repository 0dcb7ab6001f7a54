"""Calling a tool by hand: a form made from its schema, and what came back."""
