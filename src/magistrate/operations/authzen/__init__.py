"""Answers what the AuthZEN API asks beyond checks and queries: properties of subjects and resources that fall back to
their stored meta, and the actions that a subject may take."""
