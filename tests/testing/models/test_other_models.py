"""Models that are asked in other ways, and correct ones of other kinds: no fault is seen in them."""

from __future__ import annotations

import copy

import pytest
import torch
from decoders import HEAD, HEADS, VOCABULARY, WIDTH, BufferRotary, CountsFromZero, Decoder, DynamicRotary, made
from torch import nn

import ordinate
from ordinate.testing.models import check_model


def finding_of(report, name):
    return next(finding for finding in report if finding.property == name)


class Bare(nn.Module):
    """Ids alone, no order but the causal mask's."""

    def __init__(self):
        super().__init__()
        self.inside = made(Decoder, "none")

    def forward(self, ids):
        return self.inside(ids)[0]


class OrdinatesOwn(nn.Module):
    """ordinate's parts, with positions that must be given."""

    def __init__(self, scheme=None):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.joined = nn.Linear(WIDTH, 3 * WIDTH)
        self.scheme = scheme or ordinate.Rope(head_dim=HEAD, layout="half")
        for part in (self.embed, self.head, self.joined):
            nn.init.normal_(part.weight, std=0.4)

    def forward(self, ids, positions, document_ids=None):
        q, k, v = self.joined(self.embed(ids)).view(*ids.shape, 3, HEADS, HEAD).permute(2, 0, 3, 1, 4)
        where = {"q_positions": positions, "k_positions": positions}
        out = ordinate.attend(q, k, v, scheme=self.scheme, **where, causal=True, document_ids=document_ids)
        return self.head(out.transpose(1, 2).flatten(2))


class Masks(nn.Module):
    """A correct decoder that takes its mask in another form."""

    def __init__(self, form):
        super().__init__()
        self.form, self.inside = form, made(Decoder, "learned")

    def forward(self, ids, mask=None):
        if self.form == "padding" and mask is not None:
            assert mask.dtype == torch.bool
            mask = ~mask
        return self.inside(ids, mask)[0]


class Blocks(nn.Module):
    """A decoder that is told what each query sees."""

    def __init__(self):
        super().__init__()
        self.inside = made(Decoder, "rope")

    def forward(self, ids, attn_mask=None, positions=None):
        if attn_mask is not None:
            if attn_mask.shape != (len(ids), 1, ids.shape[1], ids.shape[1]):
                raise ValueError("attn_mask: needed [B, 1, T, T]")
            self.inside.hidden = lambda *_: ~attn_mask[:, 0]
        try:
            return self.inside(ids, positions=positions)[0]
        finally:
            vars(self.inside).pop("hidden", None)


class BothWays(nn.Module):
    """An encoder: padding alone is hidden."""

    def __init__(self):
        super().__init__()
        self.inside = made(Decoder, "learned")
        self.inside.hidden = lambda ids, _done, mask, _documents: (
            torch.zeros(1, *[ids.shape[1]] * 2, dtype=torch.bool)
            if mask is None
            else ~mask.bool()[:, None].expand(-1, ids.shape[1], -1)
        )

    def forward(self, ids, mask=None):
        return self.inside(ids, mask)[0]


class Resets(Decoder):
    """Buffers are worked out again after to_empty, as FSDP asks for it."""

    def __init__(self, scheme):
        super().__init__(scheme)
        self.rotary = BufferRotary()
        frequencies = self.rotary.frequencies
        self.rotary.reset_parameters = lambda: self.rotary.inv_freq.copy_(torch.tensor(frequencies))

    def __deepcopy__(self, memo):
        again = Resets(self.scheme)
        again.load_state_dict(copy.deepcopy(self.state_dict(), memo))
        return again.train(self.training)


@pytest.mark.parametrize(
    "model",
    [Bare, OrdinatesOwn, lambda: OrdinatesOwn(ordinate.ALiBi(n_heads=HEADS, slopes="authors")), BothWays, Blocks],
    ids=["without positions", "ordinate's Rope", "ordinate's ALiBi", "both ways", "blocks"],
)
def test_other_correct_models_have_no_fault(model):
    report = check_model(model(), compiled=False)
    assert report.broken == (), str(report)


@pytest.mark.parametrize("form", ["real", "padding"])
def test_the_form_of_a_mask_is_found(form):
    report = check_model(Masks(form), compiled=False)
    assert report.broken == (), str(report)
    assert finding_of(report, "left-padded = unpadded").verdict == "holds"


def test_blocks_are_asked_for_packed_documents():
    found = finding_of(check_model(Blocks(), compiled=False), "packed = separate")
    assert (found.verdict, found.said) == ("holds", "by a mask of blocks and positions that start again")


def test_a_cache_of_its_own_is_asked_by_a_function():
    for kind, verdict in ((Decoder, "holds"), (CountsFromZero, "broken")):
        model = made(kind)

        def cached(ids, cache, model=model):
            return model(ids, cache=cache)

        report = check_model(lambda ids, model=model: model(ids)[0], cached=cached)
        assert finding_of(report, "cached = uncached").verdict == verdict
        assert finding_of(report, "state dict holds weights alone").said == "a function has no state dict"


def test_buffers_that_are_reset_are_not_uninitialised():
    report = check_model(made(Resets), make=lambda: Resets("rope"), compiled=False)
    assert finding_of(report, "meta device, to_empty, weights").verdict == "holds"


def test_a_rule_by_length_is_right_within_the_trained_length():
    class Dynamic(Decoder):
        def __init__(self, scheme):
            super().__init__(scheme)
            self.rotary = DynamicRotary()

    report = check_model(made(Dynamic), maximum=16, compiled=False)
    # the length is that of the longest row: this alone is wrong
    assert [finding.property for finding in report.broken] == ["rows of a batch are independent"], str(report)


def test_a_model_is_left_as_it_was():
    model = made(Decoder).train()
    before = copy.deepcopy(model.state_dict())
    check_model(model, compiled=False)
    assert model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_low_precision_is_checked_in_float32():
    report = check_model(made(Decoder, "learned").bfloat16(), compiled=False)
    assert report.broken == (), str(report)


def test_ids_of_the_caller_are_used():
    seen = set()

    class Seen(Decoder):
        def forward(self, ids, **named):
            seen.update(ids.flatten().tolist())
            return super().forward(ids, **named)[0]

    check_model(made(Seen), ids=torch.tensor([[7, 8, 9, 10]]), compiled=False)
    assert seen >= {7, 8, 9, 10}
    assert len(seen) < 10


@pytest.mark.parametrize(
    ("model", "settings", "words"),
    [
        (3, {}, "model: needed a module or another callable, got 3"),
        (nn.Embedding(9, 9), {"vocabulary": 1, "maximum": 2}, "vocabulary: needed .* got 1; maximum: needed .* got 2"),
        (nn.Embedding(9, 9), {"ids": torch.zeros(3)}, "ids: needed whole numbers"),
        (nn.Embedding(9, 9), {"make": 4}, "make: needed a callable"),
        (nn.Linear(3, 3), {}, r"needed a model that maps ids \[1, 2\] to logits"),
        (lambda ids: ids.float(), {}, "needed logits"),
    ],
)
def test_wrong_arguments_are_refused(model, settings, words):
    with pytest.raises(ValueError, match=words):
        check_model(model, **settings)


def test_an_error_where_logits_are_asked_for_is_a_finding():
    class Fails(Decoder):
        def forward(self, ids, mask=None):
            if mask is not None and not bool(mask.all()):
                raise RuntimeError("no padding here\nsecond line")
            return super().forward(ids)[0]

    found = finding_of(check_model(made(Fails), compiled=False), "left-padded = unpadded")
    assert (found.kind, found.actual) == ("mask-blind-positions", "RuntimeError: no padding here")
