"""The page of ``ordinate notes``: a marimo app (``app.py``) and the plain modules that it is made of."""
