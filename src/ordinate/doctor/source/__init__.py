"""Rules over Python source: what a file shows without being imported."""

from __future__ import annotations

from ordinate.doctor.source.diagnosing import diagnose_source as diagnose_source

__all__ = ["diagnose_source"]
