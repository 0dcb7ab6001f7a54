"""SQLite persistence: all of Toolcrib's SQL, and nothing that knows app or ui."""
