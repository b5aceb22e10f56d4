"""Implements `magistrate import`: lines, files of other products, and the lists of running servers."""
