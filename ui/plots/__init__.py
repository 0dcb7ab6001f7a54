"""The window's plots."""
