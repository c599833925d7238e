"""Ordinate's rotation inside a model of transformers that is already running: put in by ``attach``, taken out by ``detach``."""

from ordinate.attaching.attached import Attached, attach, detach

__all__ = ["Attached", "attach", "detach"]
