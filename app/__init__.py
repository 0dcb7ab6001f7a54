"""What Toolcrib does; no Qt anywhere."""
