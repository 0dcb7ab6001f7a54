"""Host files as documents: parsed with their duplicates known, edited span by span."""
