"""The field's experiments, rerun."""
