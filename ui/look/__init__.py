"""How things look: theme, colours, icons, numbers as text."""
