"""What any reading must end in, hostile values, and seeded changes of real configurations."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import random
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from ordinate import checkpoints, positions
from ordinate.checkpoints.axial_types import AXIAL_TYPES
from ordinate.checkpoints.explaining import as_values
from ordinate.checkpoints.plan import PositionPlan, StackPlan
from ordinate.checkpoints.reading import MODEL_TYPES, SAME
from ordinate.checkpoints.rope_dictionary import DICTIONARIES, RULE_KEYS, TELLING_KEYS
from ordinate.checkpoints.rope_rules import TYPES
from ordinate.checkpoints.rotary_types import ROTARY_TYPES
from ordinate.checkpoints.rotary_types.parts import PARTS
from ordinate.checkpoints.scheme_plans import (
    AxialRopePlan,
    DebertaPlan,
    EntrywiseRopePlan,
    LearnedPlan,
    ShawPlan,
    SinusoidalPlan,
    T5Plan,
    TransformerXLPlan,
)
from ordinate.checkpoints.stacked import STACKED
from ordinate.checkpoints.vocabulary import KNOWN
from ordinate.checkpoints.wholes import WHOLES

CONFIGS = Path(__file__).parent / "configs"
SECONDS = 10.0  # of the processor: a guard against what grows without bound, no measurement
LONGEST_FAULT = 900  # an unknown model type is answered with the list of all known ones
LONGEST_WARNING = 400
LONGEST_PLAN = 2**24
LARGEST_FLOAT32 = 3.4e38
SMALL = 2**19  # numbers in a table that is small enough to build in a test
SAYS = re.compile(r"needed|cannot be honoured|cannot be read|disagree|unknown|is not in the table|is there twice")
# What Python, NumPy and torch say by themselves names no key.
NOT_OURS = re.compile(
    r"Exceeds the limit|truth value|maximum recursion|ambiguous|surrogates not allowed|JSON compliant|object at 0x"
)


def outcome(source: Any, **options: Any) -> PositionPlan | str:
    """Read a source: its plan, or the text of the one error that is allowed; and neither is out of bounds."""
    start = time.process_time()
    found = _read(source, options)
    spent = time.process_time() - start
    assert spent < SECONDS, f"{spent:.1f} s"
    if isinstance(found, PositionPlan):
        check_plan(found)
        return found
    assert type(found) is ValueError, f"{type(found).__name__}: {found!s:.200}"
    check_refusal(str(found))
    return str(found)


def _read(source: Any, options: dict[str, Any]) -> PositionPlan | ValueError:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)
        try:
            return checkpoints.read(source, **options)
        except ValueError as fault:
            return fault


def refused(source: Any, *parts: str, **options: Any) -> str:
    """One error, with every part in it."""
    found = outcome(source, **options)
    assert isinstance(found, str), f"needed {parts}, got a plan:\n{found.explain():.2000}"
    missing = [part for part in parts if part not in found]
    assert not missing, f"needed {missing}, got {found!r}"
    return found


def accepted(source: Any, **options: Any) -> PositionPlan:
    found = outcome(source, **options)
    assert not isinstance(found, str), found
    return found


def one_line(text: str, longest: int) -> bool:
    return len(text.splitlines()) == 1 and text.isprintable() and len(text) <= longest


def check_refusal(text: str) -> None:
    """One line with the source's name; every fault of a bounded length, and saying what was wanted."""
    assert text.isprintable(), repr(text[:400])
    assert re.match(r".+?: .", text), text
    assert SAYS.search(text), text[:400]
    assert not NOT_OURS.search(text), text[:400]
    longest = max(len(fault) for fault in text.split("; "))
    assert longest <= LONGEST_FAULT, f"a fault of {longest} letters: {text[:400]}"


def check_plan(plan: PositionPlan) -> None:
    """Every number finite, explained in bounded time and length, JSON without NaN, and what is small can be built."""
    assert plan.stacks
    for stack in plan.stacks:
        check_stack(stack)
    start = time.process_time()
    text = plan.explain()
    written = json.dumps(as_values(plan), allow_nan=False)
    spent = time.process_time() - start
    assert spent < SECONDS, f"{spent:.1f} s to explain"
    assert max(len(text), len(written)) <= LONGEST_PLAN, (len(text), len(written))
    assert json.loads(written)["model_type"] == plan.model_type
    assert all(one_line(warning, LONGEST_WARNING) for warning in plan.warnings), plan.warnings


def check_stack(stack: StackPlan) -> None:
    for place in numbers_of(stack):
        assert math.isfinite(place), stack
    for layer in dict.fromkeys(stack.layers):
        assert 0 < layer.softmax_scale < LARGEST_FLOAT32, layer
        assert layer.window is None or layer.window >= 1
    assert stack.layers
    if is_small(stack):
        check_built(stack)


def check_built(stack: StackPlan) -> None:
    built = stack.build()
    found = built.at_length(3).at(*places_of(stack, 3))
    assert len(found) == len(built.layers) == len(stack.layers)
    if built.input is not None:
        tables = [built.input.at(range(min(3, stack.max_length or 3)))]
        assert all(torch.isfinite(table).all() for table in tables)
    for length in (1, 1 + 2 * (stack.max_length or 1)):
        found += built.at_length(length).at(*places_of(stack, 2))
    for tensor in tensors_of(found):
        assert torch.isfinite(tensor).all(), stack


def places_of(stack: StackPlan, length: int) -> tuple[positions.Positions, positions.Positions]:
    """Positions of queries and keys, with as many coordinates as the stack's schemes need."""
    kinds = (AxialRopePlan, EntrywiseRopePlan)
    axes = {stack.position_ids.axes for layer in stack.layers if isinstance(layer.scheme, kinds)}
    places = range(length) if not axes else torch.arange(length)[None, :, None].repeat(1, 1, max(axes))
    return places, places


def numbers_of(value: Any) -> Iterator[float]:
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from numbers_of(getattr(value, field.name))
    elif isinstance(value, (tuple, list)):
        for part in dict.fromkeys(value):
            yield from numbers_of(part)
    elif isinstance(value, (int, float)):
        yield value


def tensors_of(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from tensors_of(part)
    elif hasattr(value, "cos"):
        yield from (value.cos, value.sin)


def is_small(stack: StackPlan) -> bool:
    schemes = {layer.scheme for layer in stack.layers}
    if len(stack.layers) > 200 or len(schemes) > 40:
        return False
    sizes = [1]
    for scheme in schemes:
        if isinstance(scheme, T5Plan):
            sizes.append(scheme.n_heads * scheme.n_buckets * len(schemes))
        elif isinstance(scheme, DebertaPlan):
            sizes.append(scheme.n_heads * scheme.head_dim)
        elif isinstance(scheme, TransformerXLPlan):
            sizes.append(scheme.n_heads * scheme.head_dim * scheme.d_model * len(schemes))
        elif isinstance(scheme, ShawPlan):
            sizes.append((scheme.max_distance + scheme.max_future + 1) * scheme.head_dim * len(schemes))
        elif scheme is not None:
            sizes.append(getattr(scheme, "n_heads", 1) + getattr(scheme, "head_dim", 1))
    tables = [table for table in (stack.input, stack.cross_input) if isinstance(table, LearnedPlan)]
    sizes += [(table.max_length + table.padding_offset) * table.d_model for table in tables]
    if isinstance(stack.input, SinusoidalPlan):
        sizes.append(stack.input.d_model)
    if stack.table is not None:
        sizes.append(2 * stack.table.span * stack.table.d_model)
    return max(sizes) <= SMALL


# Configurations of a few layers, with every required key and no other

SIZES = {"num_hidden_layers": 4, "num_attention_heads": 4, "hidden_size": 64}
PAIR = {"encoder_layers": 2, "encoder_attention_heads": 4, "decoder_layers": 2, "decoder_attention_heads": 4, "d_model": 64}
T5 = {"num_layers": 2, "num_heads": 4}
PAIRED = ("bart", "mbart", "mvp", "plbart", "blenderbot", "blenderbot-small", "marian", "pegasus", "m2m_100", "nllb-moe", "fsmt")
T5_KIN = ("t5", "mt5", "umt5", "switch_transformers", "pop2piano")
LISTED = {"layers_block_type": ["linear_attention", "full_attention", "mlp"]}
OF_TYPE: dict[str, dict[str, Any]] = dict.fromkeys((*PAIRED, "speech_to_text", "whisper"), PAIR) | dict.fromkeys(T5_KIN, T5)
OF_TYPE |= {"blt": {}, "nemotron_h": LISTED}
OF_TYPE |= {"dots3_note": {"num_hidden_layers": 4}, "dots3_note_text": {"num_hidden_layers": 4}}
OF_TYPE |= {"deepseek_v4": {"num_hidden_layers": 4}, "qwen2_5_omni_dit": {"num_hidden_layers": 4}}
OF_TYPE |= {name: {} for name in ("parakeet_ctc", "parakeet_rnnt", "parakeet_tdt", "nemotron_asr_streaming")}
SECTIONS = {"head_dim": 16, "rope_parameters": {"mrope_section": [2, 2, 2, 2]}}
OF_TYPE |= {"hunyuan_vl": {"num_hidden_layers": 4, **SECTIONS}, "hunyuan_vl_text": {"num_hidden_layers": 4, **SECTIONS}}
# Types whose sizes stand in configurations inside.
INSIDE = {"t5gemma": {"encoder": SIZES, "decoder": SIZES}, "t5gemma2": {"encoder": {"text_config": SIZES}, "decoder": SIZES}}
OF_TYPE |= INSIDE
# Without types whose sizes stand inside, and one whose layers are listed.
FLAT_TYPES = tuple(name for name in MODEL_TYPES if name not in (*INSIDE, "nemotron_h", "blt"))
# Sections of the type's default need heads of a width.
WIDE = {**SIZES, "hidden_size": 512}
HALF_WIDE = {**SIZES, "hidden_size": 256}
# A whole whose parts all have configurations of their own needs nothing; a part's defaults stand in.
OF_TYPE |= {name: {} for name, parts in STACKED.items() if all(part.key for part in parts)}
OF_TYPE["moonshine"] = {**SIZES, "encoder_num_hidden_layers": 4, "encoder_num_attention_heads": 4}
OF_TYPE["seamless_m4t"] = {"speech_encoder_layers": 2, "speech_encoder_attention_heads": 4, "hidden_size": 64}
# Types whose code gives every layer a head of its own width.
OWN_HEADS = {name for name, kind in ROTARY_TYPES.items() if kind.head == "latent" or "head_dim" in kind.defaults}
OWN_HEADS |= {name for name in ("xcodec2", "neucodec") if "head_dim" in PARTS[name].defaults}
OWN_HEADS |= {name for name in ("mimi", "pocket_tts_audio_tokenizer") if f"{name}_encoder" in OWN_HEADS}
OWN_HEADS |= {name for name, same in SAME.items() if same in OWN_HEADS}
OWN_HEADS |= {whole for whole, text in WHOLES.items() if text in OWN_HEADS}
ALSO = {"gptj": WIDE, "codegen": WIDE}  # 64 entries turn by default
ALSO |= {"zamba2": {**SIZES, "layers_block_type": ["linear_attention", "hybrid", "linear_attention", "hybrid"]}}
ALSO |= {"clvp_encoder": WIDE}
ALSO |= {"lfm2_moe": {**SIZES, "layer_types": ["conv", "full_attention", "full_attention", "conv"]}}


ALSO |= dict.fromkeys(("qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"), WIDE)
ALSO |= dict.fromkeys(("qwen2_5_omni", "qwen2_5_omni_thinker", "qwen2_5_omni_text"), WIDE)
ALSO |= dict.fromkeys(("ernie4_5_vl_moe", "ernie4_5_vl_moe_text", "glm4v_moe", "glm4v_moe_text"), WIDE)
ALSO |= dict.fromkeys(("glm4v", "glm4v_text", "glm46v", "glm_ocr", "glm_ocr_text", "glm_image", "glm_image_text"), HALF_WIDE)
BY_TYPE = {"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 10000.0}}}
ALSO |= {name: {**SIZES, **BY_TYPE} for name in ("cohere_compass", "cohere_compass_text")}
# The scheme that is read, where the default is another one.
CHOSEN = {"esm": {"position_embedding_type": "rotary"}}
CHOSEN |= {"seamless_m4t": {"position_embeddings_type": "rotary"}}


def needed_keys(model_type: str) -> dict[str, Any]:
    """The keys without which nothing can be read."""
    if model_type in OF_TYPE:
        return dict(OF_TYPE[model_type])
    if model_type in AXIAL_TYPES:
        return needed_of_encoder(model_type)
    sizes = ALSO.get(model_type, SIZES)
    return {"num_hidden_layers": sizes["num_hidden_layers"]} if model_type in OWN_HEADS else dict(sizes)


def needed_of_encoder(model_type: str) -> dict[str, Any]:
    """Sizes of an encoder of images, by the first spelling of each."""
    kind = AXIAL_TYPES[model_type]
    sizes = {"num_hidden_layers": 4} if kind.head_dim is not None else {**SIZES, "num_attention_heads": 8 if kind.joined else 4}
    return {kind.sizes.get(key, (key,))[0]: value for key, value in sizes.items()}


def small(model_type: str, **change: Any) -> dict[str, Any]:
    return {"model_type": model_type, **needed_keys(model_type), **CHOSEN.get(model_type, {}), **change}


# Hostile values

HUGE = 10**5000


def deep(depth: int, wrap: Callable[[Any], Any] = lambda value: [value]) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = wrap(value)
    return value


OF_JSON: dict[str, Any] = {
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "1e400": float("1e400"),
    "1e300": 1e300,
    "1e-300": 1e-300,
    "5e-324": 5e-324,
    "-1": -1,
    "-0.0": -0.0,
    "0": 0,
    "0.5": 0.5,
    "1": 1,
    "2": 2,
    "3": 3,
    "7.0": 7.0,
    "10^9": 10**9,
    "2^48": 2**48,
    "10^30": 10**30,
    "true": True,
    "false": False,
    "null": None,
    "text": "8",
    "no text": "",
    "words": "full_attention",
    "lines": "a\nb\r\u2028c",
    "half a letter": "\ud800",
    "long text": "x" * 10**5,
    "list": [1, 2],
    "no list": [],
    "nan list": [math.nan, "x", None],
    "mapping": {"a": 1},
    "no mapping": {},
    "mapping of lines": {"a\nb": "c\nd"},
    "nested": {"full_attention": {"full_attention": {"rope_type": "yarn"}}},
    "deep list": deep(60),
}
HOSTILE: dict[str, Any] = {
    **OF_JSON,
    "10^5000": HUGE,
    "-10^5000": -HUGE,
    "10^5000 in a list": [HUGE],
    "10^5000 in a mapping": {"factor": HUGE},
    "10^6 numbers": [1.0] * 10**6,
    "deeper than Python's stack": deep(10**5),
    "mappings deeper than Python's stack": deep(10**5, lambda value: {"rope_scaling": value}),
    "bytes": b"8",
    "complex": 4j,
    "type": float,
    "set": {1, 2},
    "range": range(3),
}
DICTIONARY_KEYS = sorted({*RULE_KEYS, *TELLING_KEYS, "rope_type", "type", "rope_theta", "partial_rotary_factor"})
TOP_KEYS = sorted({*KNOWN, *(key for keys in (SIZES, PAIR, T5) for key in keys), "head_dim", "n_layer", "n_head", "n_embd"})
TOP_KEYS += ["model_type", "text_config", "attn_config", "pad_token_id", "is_decoder", "rope_teta", "qk_rope_head_dim"]
PLAUSIBLE = (1, 2, 4, 8, 64, 128, 4096, 0.25, 0.5, 1.0, 2.0, 8.0, 32.0, 10000.0, 1e6, True, False, None, "yarn", "half", *TYPES)


# Seeded changes of real configurations

Pick = random.Random
Change = Callable[[dict[str, Any], Pick], None]


def mappings_in(config: dict[str, Any]) -> list[dict[str, Any]]:
    """The configuration, and every mapping inside it."""
    found, left = [], [config]
    while left:
        here = left.pop()
        found.append(here)
        left += [value for value in here.values() if isinstance(value, dict)]
    return found


def _somewhere(config: dict[str, Any], pick: Pick) -> tuple[dict[str, Any], str]:
    places = [(here, key) for here in mappings_in(config) for key in here]
    # Keys of positions three times as often as the others.
    places += [place for place in places if place[1] in KNOWN or place[1] in DICTIONARY_KEYS for _ in range(3)]
    return pick.choice(places) if places else (config, "model_type")


def drop(config: dict[str, Any], pick: Pick) -> None:
    here, key = _somewhere(config, pick)
    here.pop(key, None)


def rename(config: dict[str, Any], pick: Pick) -> None:
    here, key = _somewhere(config, pick)
    place = pick.randrange(len(key) + 1)
    typo = key[:place] + pick.choice(("", "x", "\n", "_", key[place : place + 1])) + key[place + 1 :]
    here[pick.choice((typo, pick.choice(TOP_KEYS), pick.choice(DICTIONARY_KEYS)))] = here.pop(key, None)


def change_value(config: dict[str, Any], pick: Pick) -> None:
    here, key = _somewhere(config, pick)
    here[key] = copy.deepcopy(pick.choice(list(OF_JSON.values())))


def nudge(config: dict[str, Any], pick: Pick) -> None:
    here, key = _somewhere(config, pick)
    value = here.get(key)
    if isinstance(value, (int, float)):
        here[key] = pick.choice(
            (0, -value, value + 1, value * 1e30, value / 3, str(value), [value], value * 2, value // 2, not value)
        )
    elif isinstance(value, list):
        here[key] = pick.choice(
            (value[:-1], value + value[-1:], value[::-1], [*value[:-1], None], {str(n): v for n, v in enumerate(value)})
        )
    elif isinstance(value, str):
        here[key] = pick.choice((value.upper(), value[:-1], value * 2, [value], *PLAUSIBLE))


def renumber(config: dict[str, Any], pick: Pick) -> None:
    """Another number that might be right."""
    places = [(here, key) for here in mappings_in(config) for key, value in here.items() if type(value) in (int, float)]
    if places:
        here, key = pick.choice(places)
        here[key] = pick.choice((1, 2, 3, 4, 5, 8, 16, 63, 64, 100, 256, 1000, 10**4, 10**6, 0.1, 0.5, 0.9, 1.0, 1.5, 40.0))


def nest(config: dict[str, Any], pick: Pick) -> None:
    here, key = _somewhere(config, pick)
    label = pick.choice((key, "full_attention", "sliding_attention", "text_config", "rope_scaling"))
    here[key] = pick.choice((lambda value: {label: value}, lambda value: [value]))(here.get(key))


def nest_all(config: dict[str, Any], pick: Pick) -> None:
    here = pick.choice(mappings_in(config))
    inside = dict(here)
    here.clear()
    here |= {pick.choice(("text_config", "full_attention", *DICTIONARIES)): inside, "model_type": inside.get("model_type")}


def swap(config: dict[str, Any], pick: Pick) -> None:
    (one, first), (other, second) = _somewhere(config, pick), _somewhere(config, pick)
    one[first], other[second] = copy.deepcopy(other.get(second)), copy.deepcopy(one.get(first))


def add(config: dict[str, Any], pick: Pick) -> None:
    here = pick.choice(mappings_in(config))
    key = pick.choice((pick.choice(TOP_KEYS), pick.choice(DICTIONARY_KEYS)))
    here[key] = copy.deepcopy(pick.choice((pick.choice(list(OF_JSON.values())), *PLAUSIBLE)))


SPELLINGS = (
    ("rope_scaling", "rope_parameters"),
    ("rope_type", "type"),
    ("num_hidden_layers", "n_layer"),
    ("num_attention_heads", "n_head"),
    ("hidden_size", "n_embd"),
    ("max_position_embeddings", "n_positions"),
    ("sliding_window", "sliding_window_size"),
    ("sliding_window_pattern", "_sliding_window_pattern"),
    ("partial_rotary_factor", "rotary_pct"),
    ("partial_rotary_factor", "rope_pct"),
    ("rope_theta", "rotary_emb_base"),
    ("rope_theta", "rope_local_base_freq"),
    ("attention_factor", "attn_factor"),
)


def spell_twice(config: dict[str, Any], pick: Pick) -> None:
    here = pick.choice(mappings_in(config))
    one, other = pick.sample(pick.choice(SPELLINGS), 2)
    value = here.get(one, pick.choice(PLAUSIBLE))
    here[one], here[other] = value, copy.deepcopy(pick.choice((value, pick.choice(PLAUSIBLE))))


def move_inside(config: dict[str, Any], pick: Pick) -> None:
    """A key from beside the dictionary into it, or the other way."""
    here = pick.choice(mappings_in(config))
    inner = here.setdefault(pick.choice(DICTIONARIES), {})
    if isinstance(inner, dict) and here:
        source, target = pick.sample((here, inner), 2)
        key = pick.choice(list(source)) if source else "rope_theta"
        target[key] = copy.deepcopy(source.pop(key, 10000.0))


def other_type(config: dict[str, Any], pick: Pick) -> None:
    pick.choice([here for here in mappings_in(config) if "model_type" in here] or [config])["model_type"] = pick.choice(MODEL_TYPES)


CHANGES: tuple[Change, ...] = (
    drop,
    rename,
    change_value,
    change_value,
    nudge,
    nudge,
    renumber,
    renumber,
    renumber,
    nest,
    nest_all,
    swap,
    add,
    add,
    spell_twice,
    move_inside,
    other_type,
)


def damaged(text: str, pick: Pick) -> str:
    """A file's text with letters lost, doubled, swapped, or cut short."""
    for _ in range(pick.randint(1, 3)):
        start = pick.randrange(max(len(text), 1))
        stop = start + pick.choice((1, 1, 1, 2, 5, 40))
        part = text[start:stop]
        put = pick.choice(("", "", part * 2, part[::-1], pick.choice('{}[]",:0-e\\n\0')))
        text = text[:start] + put + text[stop:]
    return text if pick.random() < 0.8 else text[: pick.randrange(len(text) + 1)]


def real_configs() -> dict[str, Mapping[str, Any]]:
    return {path.name: json.loads(path.read_text()) for path in sorted(CONFIGS.glob("*.json"))}


def mutated(count: int, seed: int) -> Iterator[tuple[str, dict[str, Any] | str]]:
    """Real configurations, each with one to four changes; every sixth is a damaged text. One in ten may be of an unknown type."""
    pick = random.Random(seed)
    real = list(real_configs().items())
    known = [(name, config) for name, config in real if config["model_type"] in MODEL_TYPES]
    for number in range(count):
        name, config = pick.choice(real if number % 10 == 9 else known)
        if number % 6 == 5:
            yield name, damaged(json.dumps(config, indent=1), pick)
            continue
        changed = copy.deepcopy(dict(config))
        for change in pick.choices(CHANGES, k=pick.choice((1, 1, 1, 2, 3, 4))):
            change(changed, pick)
        yield name, changed
