"""The process a host starts instead of its servers."""
