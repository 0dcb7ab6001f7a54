"""Streamable HTTP on loopback, from inside the backend; imported only where it is switched on."""
