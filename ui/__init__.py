"""Windows on what app knows; no SQL, no network."""
