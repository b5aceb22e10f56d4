"""Holds the tags of templates, where Django looks for them."""
