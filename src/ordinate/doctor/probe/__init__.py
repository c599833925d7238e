"""A real model on a short text: what moves when positions move."""
