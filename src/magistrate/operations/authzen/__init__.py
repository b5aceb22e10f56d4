"""Answers what AuthZEN has beyond checks and queries: properties of subjects and resources, and actions of subjects."""
