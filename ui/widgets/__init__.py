"""Widgets and table parts that more than one page uses."""
