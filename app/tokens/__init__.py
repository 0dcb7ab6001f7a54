"""Cost of each tool in tokens, per host style."""
