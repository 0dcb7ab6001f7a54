"""The sample servers; each module makes one kit of tools."""
