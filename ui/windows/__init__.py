"""The window's windows."""
