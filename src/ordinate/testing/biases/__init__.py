"""Checks of biases that are added to attention scores: ALiBi, T5, Shaw, DeBERTa, Transformer-XL's shift."""

from ordinate.testing.biases.adapters import adapted as adapted
from ordinate.testing.biases.adapters import from_additive_mask as from_additive_mask
from ordinate.testing.biases.adapters import from_buckets as from_buckets
from ordinate.testing.biases.adapters import from_distance as from_distance
from ordinate.testing.biases.adapters import from_lengths as from_lengths
from ordinate.testing.biases.adapters import from_score_mod as from_score_mod
from ordinate.testing.biases.adapters import from_vectors as from_vectors
from ordinate.testing.biases.check import assert_bias as assert_bias
from ordinate.testing.biases.check import check_bias as check_bias
from ordinate.testing.biases.function import BiasFunction as BiasFunction
from ordinate.testing.biases.of_schemes import check_alibi as check_alibi
from ordinate.testing.biases.of_schemes import check_deberta as check_deberta
from ordinate.testing.biases.of_schemes import check_shaw as check_shaw
from ordinate.testing.biases.of_schemes import check_t5 as check_t5
from ordinate.testing.biases.relative_shift import check_relative_shift as check_relative_shift
