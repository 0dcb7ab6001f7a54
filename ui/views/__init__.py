"""The window's views."""
