"""A whole model held to what positions must do."""

from ordinate.testing.models.checking import assert_model, check_model
from ordinate.testing.models.subject import Cached

__all__ = ["Cached", "assert_model", "check_model"]
