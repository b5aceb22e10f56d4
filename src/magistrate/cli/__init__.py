"""The `magistrate` command."""
