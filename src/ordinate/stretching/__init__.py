"""How far a checkpoint goes beyond the length it was trained on, and which rule takes it further: ``ordinate stretch``."""
