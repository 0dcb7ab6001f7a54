"""The Query set page."""
