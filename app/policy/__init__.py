"""Budgets, verdicts and proposals."""
