"""Experiments that show how schemes behave: train short, test long."""
