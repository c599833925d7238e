"""Every mistake that is planted in a correct decoder is found and named; the correct one has none."""

from __future__ import annotations

import decoders
import pytest
from decoders import ROWS, Decoder, made

from ordinate.testing.models import assert_model, check_model

# mistake, scheme, arguments, kinds that are found, and words of the finding
PLANTED = [
    (decoders.CountsFromZero, "learned", {}, "decode-offset", "all new tokens are at position 0|counted from 0 again"),
    (decoders.CountsFromZero, "rope", {}, "decode-offset", "counted from 0 again"),
    (decoders.OneTooFew, "rope", {}, "decode-offset", "one too small"),
    (decoders.CausalFromTheTop, "rope", {}, "decode-offset", "do not see the last token in the cache"),
    (decoders.CountsPaddingInTheCache, "learned", {}, "decode-offset", "counts the padding in the cache"),
    (decoders.CountsPadding, "learned", {}, "mask-blind-positions", "padding is counted"),
    (decoders.SeesPadding, "rope", {}, "mask-blind-positions", "the mask does not hide it"),
    (decoders.RunsOn, "learned", {}, "packed-positions", "run on over the border"),
    (decoders.SeesOtherDocuments, "rope", {}, "packed-positions", "see each other"),
    (decoders.FrequenciesInABuffer, "rope", {}, "low-precision-phase", "reaches rotary.inv_freq"),
    (decoders.SlopesInABuffer, "alibi", {}, "low-precision-phase", "reaches decay"),
    (decoders.AnglesUnderAutocast, "rope", {}, "low-precision-phase", "under autocast positions"),
    (decoders.PositionsInHalf, "rope", {}, "low-precision-phase", "are the same to the model"),
    (decoders.FrequenciesInABuffer, "rope", {}, "derived-buffer-uninit", "rotary.inv_freq is never filled"),
    (decoders.TablesOfAngles, "rope", {}, "derived-buffer-uninit", "rotary.cos_cached, rotary.sin_cached are never filled"),
    (decoders.StoresTables, "rope", {}, "derived-keys-in-checkpoint", "rotary.cos_cached"),
    (decoders.StoresFrequencies, "rope", {}, "derived-keys-in-checkpoint", "rotary.inv_freq"),
    (decoders.RemembersTheLongest, "rope", {"maximum": 16}, "dynamic-ntk", "after a sequence of 20"),
    (decoders.RemembersTheLongest, "rope", {}, "dynamic-ntk", "after a sequence of"),
    (decoders.ChangesBelowTheTrainedLength, "rope", {"maximum": 16}, "dynamic-ntk", "below the trained length"),
    (decoders.SwitchesForTheBatch, "rope", {"maximum": 16}, "longrope-switch", "length of another row"),
    (decoders.StaysSwitched, "rope", {"maximum": 16}, "longrope-switch", "after a sequence of 20"),
    (decoders.KeyedByLength, "rope", {}, "cache-key-and-sharing", "the same call gives other logits after"),
    (decoders.ChangesWhatItKeeps, "alibi", {}, "cache-key-and-sharing", "after another row"),
    (decoders.FirstRowForAll, "rope", {}, "cache-key-and-sharing", "change by its other rows"),
    (decoders.Wraps, "learned", {"maximum": ROWS}, "table-range-and-base", "wraps to row 0"),
    (decoders.Clamps, "learned", {"maximum": ROWS}, "table-range-and-base", "stays at the last row"),
    (decoders.Unchecked, "learned", {"maximum": ROWS}, "table-range-and-base", "inside a kernel"),
    (decoders.Unchecked, "learned", {}, "table-range-and-base", "inside a kernel"),
    (decoders.Branches, "rope", {}, "compile-unfriendly", "tracing breaks"),
    (decoders.GrowsPerLength, "rope", {}, "compile-unfriendly", "compiles again"),
    (decoders.ComplexNumbers, "rope", {}, "backend-dtype", "complex numbers"),
    (decoders.DoubleActivations, "rope", {}, "backend-dtype", "float64"),
]


def report_of(kind, scheme, **settings):
    return check_model(made(kind, scheme), make=lambda: kind(scheme), **settings)


@pytest.mark.parametrize(("scheme", "settings"), [("rope", {}), ("rope", {"maximum": 16}), ("learned", {}), ("alibi", {})], ids=str)
def test_a_correct_decoder_has_no_fault(scheme, settings):
    report = report_of(Decoder, scheme, **settings)
    assert report.broken == (), str(report)
    held = [finding.property for finding in report if finding.verdict == "holds"]
    assert {"cached = uncached", "left-padded = unpadded", "packed = separate", "torch.compile(fullgraph=True)"} <= set(held)


@pytest.mark.parametrize(
    ("kind", "scheme", "settings", "fault", "words"), PLANTED, ids=lambda each: getattr(each, "__name__", None)
)
def test_a_planted_mistake_is_named(kind, scheme, settings, fault, words):
    compiled = fault == "compile-unfriendly"
    report = report_of(kind, scheme, compiled=compiled, **settings)
    found = [finding for finding in report.broken if finding.kind == fault]
    assert found, str(report)
    named = [finding for finding in found if any(word in str(finding) for word in words.split("|"))]
    assert named, str(report)
    assert named[0].smallest
    assert named[0].actual
    assert named[0].remedy


def test_assert_model_raises_the_report():
    assert_model(made(Decoder, "learned"), compiled=False)
    with pytest.raises(AssertionError, match="ORD403 mask-blind-positions"):
        assert_model(made(decoders.CountsPadding, "learned"), compiled=False)
