"""Stacks with their profile and policy: written, read, opened."""
