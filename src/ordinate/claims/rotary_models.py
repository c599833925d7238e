"""Claims about models with rotary embeddings: who uses them, and what a larger base does."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ordinate.claims import library
from ordinate.claims.claim import Claim, Measured, Note, Text, Verdict, judged
from ordinate.claims.layers import Array
from ordinate.claims.learned_tables import Read, read_plan
from ordinate.claims.sinusoid_values import BASE

Stretch = Callable[[str, Array, float, float, int], tuple[Array, float]]
HEAD, TRAINED, TIMES = 64, 2048, 4
# Nats in the last eighth of 16384 tokens, SmolLM2-135M-Instruct (trained on 8192), and the mean of the first four eighths:
# `ordinate stretch`, kept in benchmarks/results/stretch_smollm2_202612.json.
BEYOND = {"native": 6.36, "ntk": 2.10, "yarn": 2.03}
WITHIN = {"native": 2.24, "ntk": 2.28}
LLAMA = {
    "model_type": "llama",
    "hidden_size": 2048,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "num_hidden_layers": 16,
    "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 32.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
}
DECODERS = ("llama", "mistral", "qwen3", "gemma2", "phi3", "olmo2", "granite", "gpt_oss")


def enlarged_base(base: float, width: int, times: float) -> float:
    """The base with which the slowest pair is slower by a factor: base times^(width / (width - 2)).

    Args:
        base: the trained one.
        width: entries that turn.
        times: how much longer the context is.

    Returns:
        The larger base.

    Example:
        >>> round(enlarged_base(10000.0, 64, 4))
        41829
    """
    return float(base * times ** (width / (width - 2)))


def _larger_base(
    enlarge: Callable[[float, int, float], float] = enlarged_base,
    losses: Mapping[str, float] = BEYOND,
    stretch: Stretch = library.stretched,
) -> Measured:
    """Angles that pairs reach at four times the length, under the old base and a larger one; and losses that were measured.

    The rules that the losses are of, and the one that divides every frequency, are held against their formulas.
    """
    old, new = _frequencies(BASE), _frequencies(enlarge(BASE, HEAD, TIMES))
    seen, reached, plain = TRAINED * old, TIMES * TRAINED * new, TIMES * TRAINED * old
    incomplete = seen < 2 * math.pi  # these have not shown every angle in training
    unseen, unseen_plain = (int((incomplete & (angles > seen * (1 + 1e-9))).sum()) for angles in (reached, plain))
    slowest = float(reached[-1] / seen[-1])
    formulas = {"linear": (old / TIMES, 1.0), "ntk": (new, 1.0), "yarn": _yarn(old)}
    ours = max(_apart(stretch(rule, old, BASE, TIMES, TRAINED), wanted) for rule, wanted in formulas.items())
    helps = ours < 1e-9 and abs(slowest - 1) < 1e-9 and unseen < unseen_plain and losses["ntk"] < losses["native"] - 1
    return judged(
        holds=helps and unseen == 0,
        with_condition=helps and unseen > 0,
        slowest=slowest,
        slowest_plain=float(plain[-1] / seen[-1]),
        unseen=unseen,
        unseen_plain=unseen_plain,
        native=losses["native"],
        ntk=losses["ntk"],
        yarn=losses["yarn"],
        within=WITHIN["ntk"],
        within_native=WITHIN["native"],
        ours=ours,
    )


def _apart(found: tuple[Array, float], wanted: tuple[Array, float]) -> float:
    """The largest relative difference of frequencies, or that of the factors of cosines and sines."""
    return max(float(np.abs(found[0] / wanted[0] - 1).max()), abs(found[1] / wanted[1] - 1))


def _yarn(old: Array) -> tuple[Array, float]:
    """YaRN's formula: pairs that turn 32 times in the trained length are kept, those that turn once are slowed by the factor."""
    fast, slow = (HEAD * math.log(TRAINED / (turns * 2 * math.pi)) / (2 * math.log(BASE)) for turns in (32, 1))
    low, high = math.floor(fast), math.ceil(slow)
    ramp = np.clip((np.arange(len(old)) - low) / (high - low), 0, 1)
    return old * (1 - ramp) + old / TIMES * ramp, 0.1 * math.log(TIMES) + 1


def _frequencies(base: float) -> Array:
    out: Array = base ** (-np.arange(0, HEAD, 2) / HEAD)
    return out


def _llama(config: Mapping[str, Any] = LLAMA, read: Read = read_plan) -> Measured:
    """Read the configuration of Llama 3.2 1B."""
    plan = read(config)
    schemes = {layer.scheme for layer in plan.layers}
    kinds = {type(scheme).__name__ for scheme in schemes}
    scheme = next(iter(schemes))
    rotary = kinds == {"RopePlan"} and plan.input is None
    base, rule = (scheme.base, type(scheme.scaling).__name__) if rotary else (0.0, "")
    factor = scheme.scaling.factor if rule == "Llama3" else 0.0
    return judged(holds=rotary, layers=len(plan.layers), base=base, rule=rule, factor=factor)


def _decoders(read: Read = read_plan) -> Measured:
    """Read a small configuration of each family."""
    sizes = {"hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 2, "num_hidden_layers": 2, "head_dim": 64}
    plans = [read({"model_type": name, **sizes, "max_position_embeddings": 2048, "rope_theta": BASE}) for name in DECODERS]
    rotary = sum(all(type(layer.scheme).__name__ == "RopePlan" for layer in plan.layers) for plan in plans)
    causal = sum(plan.stack().causal for plan in plans)
    return judged(holds=rotary == causal == len(DECODERS), rotary=rotary, families=len(DECODERS))


CLAIMS = (
    Claim(
        name="llama-uses-rope",
        note=Note.REPRESENTATIONS,
        kind="attribution",
        statement=Text(
            "Llama 3.2 1B uses RoPE.",
            "В Llama 3.2 1B позиции задаёт RoPE.",
        ),
        check=_llama,
        shown=Text(
            "read from its configuration: RoPE in all {layers} layers, base {base:.0f}, rule {rule} with factor {factor:.0f}",
            "по её конфигурации: RoPE во всех {layers} слоях, основание {base:.0f}, правило {rule} с множителем {factor:.0f}",
        ),
        verdict=Verdict.HOLDS,
        truth=Text(
            "Not with the base 10000: with 500000, and with slow frequencies divided for the longer context.",
            "Но не с основанием 10000, а с 500000, и медленные частоты уменьшены ради длинного контекста.",
        ),
        schemes=("rope",),
    ),
    Claim(
        name="larger-base-stretches",
        note=Note.REPRESENTATIONS,
        kind="property",
        statement=Text(
            "RoPE's base can be enlarged to stretch a trained model to a longer context.",
            "С увеличенным основанием RoPE обученная модель годится и для более длинного контекста.",
        ),
        check=_larger_base,
        shown=Text(
            "d_k = 64, 2048 positions stretched 4 times: the slowest pair reaches {slowest:.2f} of its trained angle "
            "({slowest_plain:.0f} with the old base), {unseen} pairs reach unseen angles ({unseen_plain}); kept measurement, "
            "SmolLM2-135M at twice its length, last eighth: {native:.2f} nats as it is, {ntk:.2f} with a larger base, "
            "{yarn:.2f} with YaRN",
            "d_k = 64, 2048 позиций растянуты в 4 раза: самая медленная пара доходит до {slowest:.2f} обученного угла (со "
            "старым основанием — {slowest_plain:.0f}), до невиданных углов доходят {unseen} пар (было {unseen_plain}); "
            "сохранённое измерение, SmolLM2-135M на двойной длине, последняя восьмая: {native:.2f} ната без изменений, "
            "{ntk:.2f} с большим основанием, {yarn:.2f} с YaRN",
        ),
        verdict=Verdict.CONDITION,
        truth=Text(
            f"If the base is chosen for the length: 10000 · s^(d/(d - 2)) for s times the length brings the slowest pair to "
            f"just the angle that training showed. Pairs between still reach unseen angles, and within the trained length the "
            f"loss rises a little ({WITHIN['native']:.2f} to {WITHIN['ntk']:.2f} nats).",
            f"Если основание выбрано под длину: 10000 · s^(d/(d - 2)) для длины в s раз больше доводит самую медленную пару "
            f"ровно до угла, показанного при обучении. Промежуточные пары всё же доходят до невиданных углов, а в пределах "
            f"обученной длины потеря немного растёт (с {WITHIN['native']:.2f} до {WITHIN['ntk']:.2f} ната).",
        ),
        schemes=("rope",),
    ),
    Claim(
        name="rope-in-decoders",
        note=Note.REPRESENTATIONS,
        kind="attribution",
        statement=Text(
            "RoPE is used in present-day decoder-only models.",
            "Современные модели-декодеры используют RoPE.",
        ),
        check=_decoders,
        shown=Text(
            f"{{rotary}} of {{families}} families read as such: {', '.join(DECODERS)}",
            f"так читаются {{rotary}} из {{families}} семейств: {', '.join(DECODERS)}",
        ),
        verdict=Verdict.HOLDS,
        schemes=("rope",),
    ),
)
