"""From hosts' config files to servers to raw tools."""
