"""What a host sees of a gateway, in each of its modes."""
