"""Mutants of reading: keys dropped, one layer type for all, numbers folded, faults kept to oneself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mutants_angles as angles
import mutants_scaling as scaling
from mutant_tools import Mutant, Patch, wrap
from ordinate.checkpoints import layer_kinds, layer_nope, reading, rope_dictionary, rope_rules, rotary_models
from ordinate.checkpoints.fields import Fields
from ordinate.scaling import YaRN

# Keys and sources


def declared_base_dropped(patch: Patch) -> None:
    wrap(patch, rope_dictionary, "_settings", lambda original, *args: replace(original(*args), base=10000.0))


def base_beside_the_dictionary_dropped(patch: Patch) -> None:
    def without(original: Any, fields: Fields, part: Fields, keys: Any, *rest: Any) -> Any:
        return original(fields, part, replace(keys, theta=()), *rest)

    wrap(patch, rope_dictionary, "_settings", without)


def first_source_wins(patch: Patch) -> None:
    patch.setattr(Fields, "disagree", lambda *_: None)


def first_fault_only(patch: Patch) -> None:
    def cut(original: Any, fields: Fields, *rest: Any) -> Any:
        fields.faults = fields.faults[:1]
        return original(fields, *rest)

    wrap(patch, reading, "finished", cut)


def unknown_rule_is_none(patch: Patch) -> None:
    patch.setattr(rope_dictionary, "_kind", lambda part, _keys: part.values.get("rope_type", "default"))


def idle_keys_unsaid(patch: Patch) -> None:
    patch.setattr(Fields, "warn", lambda *_: None)


def rule_dropped(patch: Patch) -> None:
    patch.setattr(rope_dictionary, "read_rule", lambda *_, **__: (None, None))


def share_dropped(patch: Patch) -> None:
    wrap(patch, rope_dictionary, "_settings", lambda original, *args: replace(original(*args), partial=1.0))


# What the model type decides


def every_layout_half(patch: Patch) -> None:
    patch.setattr(rotary_models, "_layout", lambda *_: "half")


def one_layer_type_for_all(patch: Patch) -> None:
    def first(original: Any, *args: Any, **named: Any) -> Any:
        settings = original(*args, **named)
        return dict.fromkeys(settings, next(iter(settings.values())))

    wrap(patch, rotary_models, "read_rope", first)


def flat_rule_reaches_local_layers(patch: Patch) -> None:
    def everywhere(original: Any, fields: Fields, keys: Any, *args: Any, **named: Any) -> Any:
        return original(fields, replace(keys, scaled=("full_attention", "sliding_attention")), *args, **named)

    wrap(patch, rotary_models, "read_rope", everywhere)


def full_layer_first_of_its_period(patch: Patch) -> None:
    def moved(original: Any, fields: Fields, n_layers: int, known: Any, *, default: Any) -> Any:
        return original(fields, n_layers, known, default=default and default[-1:] + default[:-1])

    wrap(patch, layer_kinds, "types_of", moved)


def every_layer_turns(patch: Patch) -> None:
    wrap(patch, layer_nope, "_turning", lambda original, *args: [True] * len(original(*args)))


# Numbers of rules


def attn_factor_dropped(patch: Patch) -> None:
    def dropped(_original: Any, part: Fields, rule: YaRN) -> YaRN:
        part.used.add("attn_factor")
        return rule

    wrap(patch, rope_rules, "_with_attn_factor", dropped)


def softmax_factor_dropped(patch: Patch) -> None:
    patch.setattr(rotary_models, "_with_rule", lambda scale, _rule: scale)


def softmax_factor_for_all(patch: Patch) -> None:
    wrap(patch, rotary_models, "_with_rule", lambda _original, scale, rule: scale * (1.0 if rule is None else 1.138629**2))


def ramp_always_rounded(patch: Patch) -> None:
    def rounded(original: Any, *args: Any) -> Any:
        rule, length = original(*args)
        return replace(rule, truncate=True), length

    wrap(patch, rope_rules, "_yarn", rounded)


_RAMPS = (
    ramp_always_rounded,
    scaling.yarn_ramp_inverted,
    scaling.yarn_betas_swapped,
    scaling.yarn_floor_and_ceil_swapped,
    scaling.yarn_floor_before_the_division,
)
_MAGNITUDES = (attn_factor_dropped, softmax_factor_dropped, softmax_factor_for_all, scaling.magnitude_dropped)
_LAYERS = (one_layer_type_for_all, flat_rule_reaches_local_layers, full_layer_first_of_its_period)

MUTANTS = (
    Mutant(declared_base_dropped, "declared_base", None),
    Mutant(base_beside_the_dictionary_dropped, "declared_base", None, ValueError),  # noticed by the reader itself
    Mutant(first_source_wins, "sources_that_disagree", None),
    *(Mutant(change, "every_fault_at_once", None) for change in (first_fault_only, unknown_rule_is_none)),
    Mutant(idle_keys_unsaid, "keys_that_change_nothing", None),
    Mutant(rule_dropped, "declared_bands", None, UserWarning),  # noticed by the reader itself
    Mutant(scaling.llama3_low_and_high_swapped, "declared_bands", None),
    Mutant(every_layout_half, "layout_by_model_type", None),
    *(Mutant(change, "layers_that_differ", None) for change in _LAYERS),
    *(Mutant(change, "declared_magnitudes", None) for change in _MAGNITUDES),
    *(Mutant(change, "declared_ramp", None) for change in _RAMPS),
    *(
        Mutant(change, "declared_switch", None)
        for change in (scaling.longrope_long_at_the_original_length, scaling.longrope_always_short)
    ),
    *(
        Mutant(change, "declared_dynamic_base", None)
        for change in (scaling.base_ignores_the_factor, scaling.base_shrinks_below_the_original_length)
    ),
    Mutant(share_dropped, "declared_share", None),
    Mutant(every_layer_turns, "layers_without_rotation", None),
    Mutant(angles.frequencies_in_a_buffer, "built_on_meta", None),
)
