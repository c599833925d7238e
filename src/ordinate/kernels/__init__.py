"""Kernels: faster ways to compute what the formulas of ``ordinate.rotation`` say, to the bit."""
