"""Look of the window: theme, colours, icons, numbers as text."""
