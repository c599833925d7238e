"""Checkpoints: what their files say of positions, and their weights in the form that a scheme needs."""

from __future__ import annotations

from ordinate.checkpoints.reading import read as read
