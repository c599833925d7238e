"""Rotations against the contract."""
