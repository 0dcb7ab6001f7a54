"""Ranking of tools for a query, with reasons."""
