"""Scaling rules against the published ones."""
