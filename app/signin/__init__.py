"""OAuth for servers behind a URL: signing in, and tokens that are renewed without a person."""
