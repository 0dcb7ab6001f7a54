"""Hooks: tools suggested for a prompt before a model sees it."""
