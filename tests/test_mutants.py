"""Each mutant of the library turns a named check of the contract red, and the same check is green without it."""

from collections.abc import Callable

import pytest
import torch
from torch.autograd.gradcheck import GradcheckError

import mutants_angles as angles
import mutants_attention as attention
import mutants_axes as axes
import mutants_content as content
import mutants_multimodal as multimodal
import mutants_reading as reading
import mutants_scaling as scaling
import mutants_schemes as schemes
import mutants_scores as scores
from cases import CASES
from contract_checks import CHECKS
from contract_faults import FAULTS
from mutant_tools import Mutant, Patch

MUTANTS = (
    Mutant(axes.columns_before_rows, "rows_before_columns", None),
    Mutant(axes.rows_and_columns_exchanged, "rows_before_columns", None),
    Mutant(axes.rows_and_columns_exchanged, "patches_that_are_joined_come_together", None),
    Mutant(axes.blocks_forgotten, "patches_that_are_joined_come_together", None),
    Mutant(axes.corners_for_centres, "centres_of_patches", None),
    Mutant(axes.first_coordinate_for_all, "each_axis_turns_its_pairs", None),
    Mutant(axes.first_coordinate_for_all, "sections_one_after_another", None),
    Mutant(axes.axes_in_the_other_order, "each_axis_turns_its_pairs", None),
    Mutant(axes.axes_in_the_other_order, "axes_take_turns", None),
    Mutant(axes.axes_never_take_turns, "axes_take_turns", None),
    Mutant(axes.frequencies_of_the_whole_head, "each_axis_turns_its_pairs", None),
    Mutant(axes.sections_interleaved, "sections_one_after_another", None),
    Mutant(axes.sections_contiguous, "sections_in_turn", None),
    Mutant(axes.axes_first_accepted, "coordinates_come_last", None),
    Mutant(axes.order_of_the_first_coordinate, "coordinates_come_last", None),
    Mutant(axes.count_of_coordinates, "coordinates_come_last", None, ValueError),
    Mutant(angles.pair_layout_swapped, "scheme_oracle", "rope half"),
    Mutant(angles.pair_layout_swapped, "pair_layout", None),
    Mutant(angles.sine_sign_flipped, "scheme_oracle", "rope interleaved"),
    Mutant(angles.sine_sign_flipped, "scheme_oracle", "sinusoidal"),
    Mutant(angles.sine_sign_flipped, "real_pairs", None),
    Mutant(angles.frequencies_from_head_dim, "scheme_oracle", "rope partial"),
    Mutant(angles.frequencies_from_head_dim, "partial_rotary", None),
    Mutant(angles.frequencies_off_by_one, "scheme_oracle", "rope half"),
    Mutant(angles.base_ignored, "scheme_oracle", "rope interleaved"),
    Mutant(angles.base_ignored, "base_is_used", None),
    Mutant(angles.base_ignored, "other_instance", "sinusoidal"),
    *(
        Mutant(angles.positions_are_row_numbers, check, case)
        for check in ("permutation", "positions_matter", "context_parallel", "decode_raw_keys", "layer_oracle")
        for case in ("rope half", "alibi", "sinusoidal", "learned")
        if (check, case) != ("decode_raw_keys", "alibi")  # a range goes another way there
    ),
    Mutant(angles.positions_are_row_numbers, "packed_documents", "sinusoidal"),
    *(
        Mutant(angles.first_row_for_all, check, case)
        for check in ("left_padding", "positions_matter", "layer_oracle", "small_shapes")
        for case in ("rope interleaved", "alibi authors 6", "sinusoidal odd", "learned")
        if (check, case[:4]) not in {("left_padding", "rope"), ("left_padding", "alib")}  # distances inside a row are right
    ),
    Mutant(angles.positions_in_bfloat16, "phase_at_1857", None),
    Mutant(angles.positions_in_bfloat16, "autocast", "rope half"),
    Mutant(angles.positions_in_float16, "neighbours_under_autocast", None),
    Mutant(angles.phase_in_float16, "phase_at_1857", None),
    Mutant(angles.first_position_read, "no_tokens", "rope half", IndexError),
    Mutant(angles.first_position_read, "no_tokens_in_modules", "rope half", IndexError),
    Mutant(angles.positions_in_float16, "norms_kept", "rope half"),
    Mutant(angles.fractions_dropped, "scheme_oracle", "rope half"),
    Mutant(angles.fractions_dropped, "scheme_oracle", "alibi"),
    Mutant(angles.fractions_dropped, "scheme_oracle", "sinusoidal"),
    Mutant(angles.angles_in_float32, "far_positions", None),
    Mutant(angles.angles_in_float32, "constant_shift", "rope half"),
    Mutant(angles.angles_by_matmul, "autocast", "rope half"),
    Mutant(angles.angles_by_matmul, "neighbours_under_autocast", None),
    Mutant(angles.frequencies_in_a_buffer, "module_casts", "rope half"),
    Mutant(angles.frequencies_in_a_buffer, "state", "rope half"),
    Mutant(angles.frequencies_in_a_buffer, "meta_device", "rope half"),
    Mutant(angles.frequencies_in_a_buffer, "frequencies_after_meta", None),
    Mutant(angles.frequencies_in_a_buffer, "frequency_after_cast", None),
    Mutant(angles.memo_without_base, "other_instance", "rope half"),
    Mutant(angles.memo_without_base, "other_instance", "sinusoidal"),
    Mutant(angles.memo_without_base, "layers_keep_their_settings", None),
    Mutant(angles.memo_by_length, "history", "rope half"),
    Mutant(angles.memo_by_length, "decode_raw_keys", "rope half"),
    Mutant(angles.memo_by_length, "real_pairs", None),
    Mutant(angles.base_grows_with_length, "history", "rope half"),
    Mutant(angles.base_grows_with_length, "history", "sinusoidal"),
    Mutant(angles.table_grows_by_reading_positions, "compiled", "rope half", torch._dynamo.exc.TorchDynamoException),
    Mutant(angles.magnitude_in_the_rotation, "norms_kept", "rope partial"),
    Mutant(angles.magnitude_in_the_rotation, "inverse_by_negative", "rope half"),
    Mutant(angles.magnitude_in_the_rotation, "origin_is_identity", "rope half"),
    Mutant(angles.all_entries_turned, "origin_is_identity", "rope tail"),
    Mutant(angles.turned_in_place, "memory_layouts", "rope half"),
    Mutant(angles.turned_in_place, "shift_of_turned_keys", "rope half"),
    Mutant(angles.turned_without_gradient, "gradients", "rope interleaved", GradcheckError),
    Mutant(angles.turned_without_gradient, "gradient_of_a_turn", None),
    Mutant(angles.turned_in_the_input_dtype, "dtypes", "rope half"),
    Mutant(angles.result_left_in_float32, "dtypes", "rope half"),
    Mutant(angles.shift_with_wrong_sign, "shift_of_turned_keys", "rope half"),
    Mutant(angles.queries_turned_backwards, "scores_depend_on_distance", "rope half"),
    Mutant(angles.queries_turned_backwards, "constant_shift", "rope half"),
    Mutant(angles.queries_turned_backwards, "one_call_forms", "rope half"),
    Mutant(angles.heads_taken_for_tokens, "small_rotations", "rope half"),
    *(
        Mutant(schemes.alibi_ignores_positions, check, "alibi")
        for check in ("permutation", "positions_matter", "context_parallel", "cross_lengths", "scheme_oracle")
    ),
    Mutant(schemes.alibi_sign_flipped, "scheme_oracle", "alibi"),
    Mutant(schemes.alibi_sign_flipped, "alibi_geometry", None),
    Mutant(schemes.alibi_one_sided, "layer_oracle", "alibi"),
    Mutant(schemes.alibi_bias_in_bfloat16, "scheme_oracle", "alibi given"),
    Mutant(schemes.slope_exponent_off_by_one, "scheme_oracle", "alibi"),
    Mutant(schemes.slope_exponent_off_by_one, "slopes_of_odd_head_counts", None),
    Mutant(schemes.authors_slopes_sorted, "scheme_oracle", "alibi authors 6"),
    Mutant(schemes.authors_slopes_sorted, "slopes_of_odd_head_counts", None),
    Mutant(schemes.slope_rules_confused, "slopes_of_odd_head_counts", None),
    Mutant(schemes.rank_takes_first_heads, "head_slices", "alibi authors 6"),
    Mutant(schemes.ranges_read_backwards, "cross_lengths", "alibi"),
    Mutant(schemes.open_and_closed_confused, "scheme_oracle", "sinusoidal blocks"),
    Mutant(schemes.open_and_closed_confused, "sinusoid_conventions", None),
    Mutant(schemes.odd_width_rounded_up, "scheme_oracle", "sinusoidal odd"),
    Mutant(schemes.odd_width_rounded_up, "sinusoid_conventions", None),
    Mutant(schemes.cosines_first, "scheme_oracle", "sinusoidal"),
    Mutant(schemes.dropout_before_the_sum, "train_mode", "sinusoidal"),
    Mutant(schemes.dropout_in_evaluation, "train_mode", "sinusoidal"),
    Mutant(schemes.dropout_not_rescaled, "train_mode", "learned"),
    Mutant(schemes.negatives_wrap, "table_bounds", None),
    Mutant(schemes.table_end_unchecked, "table_bounds", None),
    Mutant(schemes.padding_offset_ignored, "scheme_oracle", "learned offset wrap"),
    Mutant(schemes.wrap_counts_padding_rows, "scheme_oracle", "learned offset wrap"),
    Mutant(schemes.padding_mask_ignored, "left_padding", "sinusoidal"),
    Mutant(schemes.padding_mask_ignored, "padding_counts_no_positions", None),
    *(Mutant(schemes.continued_off_by_one, "decode_raw_keys", case) for case in ("rope half", "alibi", "sinusoidal", "learned")),
    Mutant(schemes.continued_off_by_one, "decode_turned_keys", "rope half"),
    Mutant(schemes.continued_off_by_one, "decode_module", "rope half"),
    Mutant(schemes.continued_from_one_row, "decode_module", "alibi"),
    Mutant(schemes.packed_never_resets, "packed_documents", "sinusoidal"),
    Mutant(schemes.packed_never_resets, "packed_positions", None),
    *(Mutant(attention.causal_mask_off_by_one, check, "nope") for check in ("layer_oracle", "permutation", "context_parallel")),
    Mutant(attention.causal_by_row_number, "context_parallel", "rope half"),
    Mutant(attention.causal_by_row_number, "permutation", "nope"),
    Mutant(attention.causal_mask_from_the_top_left, "decode_raw_keys", "rope half"),
    Mutant(attention.causal_mask_from_the_top_left, "cross_lengths", "nope"),
    Mutant(attention.window_off_by_one, "layer_oracle", "rope half"),
    Mutant(attention.window_looks_back_only, "layer_oracle", "nope"),
    Mutant(attention.documents_ignored, "packed_documents", "rope half"),
    Mutant(attention.documents_ignored, "layer_oracle", "nope"),
    Mutant(attention.documents_only_by_border, "layer_oracle", "nope"),
    Mutant(attention.bool_mask_inverted, "left_padding", "rope half"),
    Mutant(attention.bool_mask_inverted, "layer_oracle", "nope"),
    Mutant(attention.packed_lengths_reversed, "packed_documents", "rope half"),
    Mutant(attention.empty_rows_left_alone, "empty_rows", "nope"),
    Mutant(attention.empty_rows_left_alone, "empty_rows", "alibi"),
    Mutant(attention.empty_rows_divide_by_zero, "empty_rows", "nope"),
    Mutant(attention.heads_grouped_wrongly, "layer_oracle", "rope half"),
    Mutant(attention.heads_grouped_wrongly, "small_shapes", "nope"),
    Mutant(attention.plain_heads_grouped_wrongly, "fused_equals_plain", "nope"),
    Mutant(attention.plain_result_left_in_float32, "autocast", "alibi"),
    Mutant(attention.softmax_scale_missing, "layer_oracle", "rope half"),
    Mutant(attention.softmax_scale_missing, "layer_oracle", "alibi"),
    Mutant(attention.bias_scaled_again, "layer_oracle", "alibi"),
    Mutant(attention.keys_at_query_positions, "cross_lengths", "rope half", ValueError),
    Mutant(attention.attention_detached_from_scheme, "layer_oracle", "sinusoidal"),
    Mutant(attention.keys_turned_twice, "decode_module", "rope half"),
    Mutant(attention.cache_forgets_rows, "decode_module", "alibi"),
    Mutant(attention.cache_counts_from_zero, "decode_module", "alibi"),
    Mutant(attention.context_counted_from_zero, "module_oracle", "rope half"),
    Mutant(attention.context_counted_from_zero, "module_oracle", "alibi"),
    Mutant(attention.float_mask_ignored, "layer_oracle", "nope"),
    Mutant(attention.embedding_unscaled, "embedding_module", "nope"),
    Mutant(attention.embedding_drops_before_the_sum, "embedding_module", "sinusoidal"),
    *(
        Mutant(angles.positions_are_row_numbers, check, case)
        for check in ("permutation", "positions_matter", "context_parallel", "layer_oracle")
        for case in ("t5", "shaw", "deberta buckets")
    ),
    *(Mutant(angles.first_row_for_all, "small_shapes", case) for case in ("t5 odd", "shaw keys only", "deberta")),
    Mutant(schemes.continued_off_by_one, "decode_module", "deberta"),
    Mutant(schemes.ranges_read_backwards, "cross_lengths", "t5"),
    Mutant(attention.extras_dropped, "layer_oracle", "deberta", ValueError),
    Mutant(attention.extras_dropped_by_the_module, "module_oracle", "deberta", ValueError),
    Mutant(attention.extras_dropped_in_packs, "packed_documents", "deberta c2p", ValueError),
    *(Mutant(attention.given_scale_spares_the_terms, "given_scale", case) for case in ("shaw", "deberta", "deberta p2c")),
    *(Mutant(attention.given_scale_reaches_all_biases, "given_scale", case) for case in ("t5", "alibi")),
    Mutant(attention.given_scale_lost, "given_scale", "nope"),
    Mutant(attention.added_values_only_under_a_causal_mask, "layer_oracle", "shaw"),
    *scores.MUTANTS,
    *content.MUTANTS,
    *scaling.MUTANTS,
    *reading.MUTANTS,
    *multimodal.MUTANTS,
)


def _run(mutant: Mutant) -> None:
    if mutant.case is None:
        FAULTS[mutant.check]()
    else:
        CHECKS[mutant.check](CASES[mutant.case])


def _name(mutant: Mutant) -> str:
    return f"{mutant.name} -> {mutant.check}" + (f"[{mutant.case}]" if mutant.case else "")


@pytest.mark.parametrize("mutant", MUTANTS, ids=_name)
def test_mutant_is_caught(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    _run(mutant)
    mutant.apply(monkeypatch)
    with pytest.raises(mutant.error):
        _run(mutant)


@pytest.mark.parametrize(
    ("unchanged", "check", "case"),
    [
        *((scores._t5_formula_unchanged, "scheme_oracle", case) for case in ("t5", "t5 causal", "t5 few buckets", "t5 odd")),
        (scores._t5_formula_unchanged, "t5_buckets", None),
        (content._deberta_formula_unchanged, "scheme_oracle", "deberta buckets"),
        (content._deberta_formula_unchanged, "deberta_buckets", None),
    ],
)
def test_the_formulas_that_mutants_change_are_right(
    unchanged: Callable[[Patch], None], check: str, case: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    unchanged(monkeypatch)
    _run(Mutant(unchanged, check, case))


def test_every_check_has_a_mutant_that_it_catches() -> None:
    assert {mutant.check for mutant in MUTANTS} == set(CHECKS) | set(FAULTS)


def test_every_mutant_is_used() -> None:
    used = {mutant.name for mutant in MUTANTS}
    for module in (angles, attention, axes, content, multimodal, reading, scaling, schemes, scores):
        own = (name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__)
        made = {name for name in own if name[0] != "_"}
        assert made <= used, f"no check is named for {made - used}"
