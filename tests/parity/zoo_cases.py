"""What is held of each directory of transformers with rotary code: checks to call, by directory."""

import functools
import importlib
import inspect
from collections.abc import Callable

import pytest
import torch
import zoo_turning
from encoders_of_images import ENCODERS_OF_IMAGES
from reading_models import COMPLEX, FOLDERS, HELD_APART, MODELS
from segmenter_cases import SEGMENTERS

DTYPES = (torch.float32, torch.bfloat16)
ULP = 2.0**-23
# Directories with a part whose products are of complex numbers: float32 within an ulp of the pair's size, two roundings.
WITHIN_AN_ULP = {FOLDERS.get(name, name) for name in COMPLEX}
# Directories whose functions are never called: the check stops where one is.
STILL = ("jamba", "nemotron_h", "parakeet", "nemotron_asr_streaming")
# Those of them whose attention has sinusoids of the distance, projected: outputs are held within 1e-5, and nothing turns.
BY_DISTANCE = ("parakeet", "nemotron_asr_streaming")
# Directories that are left out, by a model type that is refused with the reason.
LEFT_OUT_AS = {name: name for name in ("esmfold2", "lightglue", "mistral_large4", "musicflamingo")}


def of_text(model_type):
    """Queries and keys of a model type, turned by its own function at its own module's angles."""
    pairs = (
        (dtype, *pair)
        for values in zoo_turning.spellings_of(model_type)
        for dtype in DTYPES
        for pair in zoo_turning.turned_both(model_type, dtype, values)
    )
    for dtype, wanted, found in pairs:
        assert wanted.dtype == found.dtype == dtype
        if model_type in COMPLEX and dtype == torch.float32:
            assert ((wanted - found).abs() <= 2 * ULP * wanted.abs().max()).all()
        else:
            assert torch.equal(wanted, found)


def beside(model_type, directory):
    """Vectors that a directory turns apart from its text model's queries and keys."""
    for dtype in DTYPES:
        for wanted, found in zoo_turning.turned_beside(model_type, directory, dtype):
            assert wanted.dtype == found.dtype == dtype
            assert torch.equal(wanted, found)


def called(module, check, /, **given):
    """A check of another test file, with its parameters."""
    return functools.partial(_call, module, check, given)


def _call(module, check, given):
    function = getattr(importlib.import_module(module), check)
    asked = inspect.signature(function).parameters
    with pytest.MonkeyPatch.context() as patch:
        fixtures = {name: value for name, value in (("monkeypatch", patch), ("near", _near)) if name in asked}
        function(**given, **fixtures)


def _near(_what, ours, theirs, bound):
    assert ours.dtype == theirs.dtype
    assert (ours.double() - theirs.double()).abs().max() <= bound


def twice(module, check, /, **given):
    """The same in both dtypes."""
    return [called(module, check, dtype=dtype, **given) for dtype in DTYPES]


def of_encoder(model_type):
    module = "test_read_encoders_of_images"
    checks = ("test_cos_and_sin", "test_queries_and_keys")
    return [check for name in checks for check in twice(module, name, model_type=model_type)]


def of_tokens(*names):
    file = "test_read_otherwise"
    return [
        check
        for name in names
        for check in (
            called(file, "test_cos_and_sin", name=name, rule="plain"),
            *twice(file, "test_queries_and_keys", name=name, rule="plain"),
        )
    ]


def of_memory(model_type):
    return [
        called("test_read_segmenters", "test_coordinates", model_type=model_type),
        *twice("test_read_segmenters", "test_queries_and_keys", model_type=model_type),
    ]


def of_pairs(model_type):
    file = "test_read_rotary_pairs"
    return [
        check
        for name in ("encoder", "decoder")
        for check in (
            called(file, "test_frequencies_bit_for_bit", model_type=model_type, name=name, rule=None),
            *twice(file, "test_rotation_bit_for_bit", model_type=model_type, name=name),
        )
    ]


def of_distances(directory):
    file = "test_read_fast_conformers"
    return [called(file, "test_layers", case=directory), called(file, "test_functions_that_nothing_calls", directory=directory)]


APART: dict[str, list[Callable[[], None]]] = {
    "blt": [
        check
        for name in ("patcher", "encoder", "global", "decoder")
        for check in (
            called("test_read_blt", "test_frequencies_cos_and_sin", name=name, rule="default"),
            *twice("test_read_blt", "test_queries_and_keys", name=name),
        )
    ],
    "clvp": twice("test_read_otherwise", "test_clvp_turns_values_too", part="clvp_encoder"),
    "esm": of_tokens("esm"),
    "evolla": of_tokens("evolla"),
    "moonshine": of_tokens("moonshine encoder", "moonshine decoder"),
    "moonshine_streaming": of_tokens("moonshine_streaming"),
    "neucodec": twice("test_read_otherwise", "test_heads_are_the_positions", model_type="neucodec", rule="plain"),
    "xcodec2": twice("test_read_otherwise", "test_heads_are_the_positions", model_type="xcodec2", rule="plain"),
    "seamless_m4t": twice("test_read_otherwise", "test_states_are_turned", model_type="seamless_m4t"),
    "wav2vec2_bert": twice("test_read_otherwise", "test_states_are_turned", model_type="wav2vec2-bert"),
    "wav2vec2_conformer": twice("test_read_otherwise", "test_states_are_turned", model_type="wav2vec2-conformer"),
    "muse_glimmer_assistant": [
        called("test_read_muse_assistant", "test_frequencies_cos_and_sin", name="plain"),
        *twice("test_read_muse_assistant", "test_queries_have_the_last_positions", name="plain"),
    ],
    "deepseek_v32": [functools.partial(beside, "deepseek_v32", "deepseek_v32")],
    "axk2": [functools.partial(beside, "axk2", "axk2")],
    "exaone4_5": [functools.partial(beside, "exaone4", "exaone4_5")],
    "deepseek_v4": [
        called("test_deepseek_v4", "test_frequencies_cos_and_sin", case="plain"),
        *[
            check
            for kind in ("sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention")
            for check in twice("test_deepseek_v4", "test_queries_keys_values_and_outputs", case="plain", kind=kind)
        ],
    ],
    "hunyuan_vl": [
        called("test_read_entrywise", "test_frequencies_cos_and_sin", rule="four"),
        *twice("test_read_entrywise", "test_queries_and_keys", rule="four"),
    ],
    "vjepa2": [
        *twice("test_read_entrywise", "test_the_function_of_vjepa2", width=20),
        *twice("test_read_entrywise", "test_frames_rows_and_columns", name="encoder"),
        *twice("test_read_entrywise", "test_frames_rows_and_columns", name="predictor"),
    ],
    "parakeet": of_distances("parakeet"),
    "nemotron_asr_streaming": of_distances("nemotron_asr_streaming"),
    "jamba": [called("test_read_still", "test_attention_without_positions", case="jamba")],
    "nemotron_h": [called("test_read_still", "test_attention_without_positions", case="nemotron_h")],
    "dots3_note": [
        called("test_read_dots3", "test_audio_frequencies", name="plain"),
        *twice("test_read_dots3", "test_audio_queries_and_keys", name="plain"),
        called("test_read_dots3", "test_frequencies_cos_and_sin", name="plain"),
        *[
            check
            for kind in ("indexed_attention", "sliding_attention", "full_attention")
            for check in twice("test_read_dots3", "test_queries_and_keys", name="plain", kind=kind)
        ],
    ],
    "t5gemma": of_pairs("t5gemma"),
    "t5gemma2": of_pairs("t5gemma2"),
    "sam2_video": of_memory("sam2_video"),
    "sam3_tracker_video": of_memory("sam3_tracker_video"),
    "edgetam_video": of_memory("edgetam_video"),
    "sam3": twice("test_read_segmenters", "test_windows_of_sam3"),
}


ALSO = {
    "qwen2_5_omni": [
        called("test_read_dit", "test_frequencies_cos_and_sin", rule=None),
        *twice("test_read_dit", "test_queries_and_keys", rule=None),
    ],
}


def cases():
    """All checks, by directory."""
    found = {directory: list(checks) for directory, checks in APART.items()}
    for model_type in MODELS:
        if model_type not in HELD_APART:
            found.setdefault(FOLDERS.get(model_type, model_type), []).append(functools.partial(of_text, model_type))
    for model_type, encoder in ENCODERS_OF_IMAGES.items():
        if model_type in SEGMENTERS:
            continue
        found.setdefault(encoder.folder, []).extend(of_encoder(model_type))
        if model_type == "llama4_vision_model":
            WITHIN_AN_ULP.add(encoder.folder)
    for directory, checks in ALSO.items():
        found[directory].extend(checks)
    assert {case.folder for case in SEGMENTERS.values()} <= set(found)
    return {directory: checks for directory, checks in found.items() if directory not in LEFT_OUT_AS}
