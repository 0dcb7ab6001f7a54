"""Secrets: the store that keeps them, how they are recognised, how they are masked."""
