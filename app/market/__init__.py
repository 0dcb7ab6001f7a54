"""Servers that could be installed: lists of them, search, and a launch made from an entry."""
