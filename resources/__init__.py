"""Data that ships with Toolcrib: host facts, icons, styles, sample data."""
