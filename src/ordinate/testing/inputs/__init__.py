"""Checks of vectors that are added to token embeddings, and of tables that are read by position."""

from ordinate.testing.inputs.adapters import adapted as adapted
from ordinate.testing.inputs.adapters import from_embeddings as from_embeddings
from ordinate.testing.inputs.adapters import from_length as from_length
from ordinate.testing.inputs.adapters import from_offset as from_offset
from ordinate.testing.inputs.check import assert_input as assert_input
from ordinate.testing.inputs.check import check_input as check_input
from ordinate.testing.inputs.function import InputFunction as InputFunction
from ordinate.testing.inputs.learned import check_learned as check_learned
from ordinate.testing.inputs.learned import check_table as check_table
from ordinate.testing.inputs.sinusoidal import check_sinusoidal as check_sinusoidal
