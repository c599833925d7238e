"""TransformerXL against float64 loops, appendix B's shift, and every check of the contract that a score scheme is held to."""

import numpy as np
import pytest
import torch
from score_tools import PLACES, drawn, listed, loud, numbers

from cases import Case, _drawn, _numbers
from contract_checks import CHECKS, HOLES
from mutants_relative import MUTANTS
from ordinate import TransformerXL, attend, reference

FAR = 2**31 - 1


def case_of(name, n_heads, n_kv_heads, head_dim, d_model, **settings):
    sizes = {"n_heads": n_heads, "head_dim": head_dim, "d_model": d_model}
    u, v = (_numbers(n_heads, head_dim, seed=seed) for seed in (0, 1))
    projection = _numbers(n_heads * head_dim, d_model, seed=2).reshape(n_heads, head_dim, d_model)

    def oracle(q, k, *places):
        return np.stack([of_head(head, q[head], k[head // (n_heads // n_kv_heads)], places) for head in range(n_heads)])

    def of_head(head, q, k, places):
        weights = {"content_bias": u[head], "position_bias": v[head], "projection": projection[head]}
        return reference.transformer_xl(q, k, *places, **weights, **settings)

    return Case(
        name,
        "transformer_xl",
        lambda: _drawn(TransformerXL(**sizes, **settings)),
        lambda: _drawn(TransformerXL(**sizes, **{**settings, "base": 77.0})),
        oracle,
        n_heads,
        n_kv_heads,
        head_dim,
        content=True,
    )


CASES = (
    case_of("sines first", 4, 2, 8, 4, layout="sin_cos"),
    case_of("interleaved", 3, 1, 5, 4, layout="interleaved", base=100.0),
)
# As for other schemes that add to the scores.
LEFT_OUT = {check for check, schemes in HOLES.items() if "shaw" in schemes}
HELD = [name for name in CHECKS if name not in LEFT_OUT]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("check", HELD)
def test_contract(check, case):
    CHECKS[check](case)


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("layout", ["sin_cos", "interleaved"])
def test_values(layout, kind):
    places = PLACES[kind]
    scheme = loud(TransformerXL(n_heads=4, head_dim=5, d_model=6, layout=layout, base=50.0))
    for dtype, error in ((torch.float64, 1e-12), (torch.float32, 3e-5)):
        q, k, _ = drawn(places, 4, 2, 5, dtype)
        got = scheme.bias(q, k, scheme.at(*places))
        assert got.dtype == dtype
        for b in range(2):
            for h in range(4):
                weights = {name: numbers(getattr(scheme, name)[h]) for name in ("content_bias", "position_bias")}
                weights["projection"] = numbers(scheme.projection).reshape(4, 5, 6)[h]
                at = [listed(side, b) for side in places]
                want = reference.transformer_xl(numbers(q[b, h]), numbers(k[b, h // 2]), *at, **weights, layout=layout, base=50.0)
                # the loops' own angles, in float64, are off by an ulp of the distance
                farthest = max(abs(query - key) for query in at[0] for key in at[1])
                assert np.abs(numbers(got[b, h]) - want / 5**0.5).max() < error + 2e-15 * farthest


def test_appendix_b():
    """One row a distance, projected, and every query's row shifted by one against the one before it."""
    scheme, length = loud(TransformerXL(n_heads=2, head_dim=4, d_model=6, layout="sin_cos")).double(), 7
    q, k, _ = drawn((range(length), range(length)), 2, 2, 4, torch.float64)
    table = torch.tensor(reference.sinusoidal(np.arange(length - 1, -1, -1), 6, layout="sin_cos"))  # distances L - 1 .. 0
    rows = (table @ scheme.projection.T).unflatten(-1, (2, 4)).transpose(0, 1)
    with_rows = (q + scheme.position_bias[:, None]) @ rows.mT  # [B, H, i, L - 1 - distance]
    padded = torch.nn.functional.pad(with_rows, (1, 0))
    shifted = padded.reshape(*padded.shape[:2], length + 1, length)[:, :, 1:].reshape(with_rows.shape)
    want = (shifted + scheme.content_bias[:, None] @ k.mT) / 2
    got = scheme.bias(q, k, scheme.at(range(length), range(length)))
    past = torch.ones(
        length, length, dtype=torch.bool
    ).tril()  # the shift leaves other numbers in the future, which the paper masks
    assert (got - want)[..., past].abs().max() < 1e-12


def test_far_positions_keep_their_distances():
    scheme = loud(TransformerXL(n_heads=2, head_dim=4, d_model=8, layout="interleaved"))
    q, k, _ = drawn((range(9), range(9)), 2, 2, 4)
    near, far = (scheme.bias(q, k, scheme.at(range(at, at + 9), range(at, at + 9))) for at in (0, FAR - 9))
    assert (near - far).abs().max() < 1e-5


def test_without_weights_it_adds_nothing():
    scheme = TransformerXL(n_heads=2, head_dim=4, d_model=8, layout="interleaved")
    with torch.no_grad():
        for weight in scheme.parameters():
            weight.zero_()
    q, k, v = drawn((range(5), range(5)), 2, 2, 4)
    places = {"q_positions": range(5), "k_positions": range(5), "causal": True}
    assert (attend(q, k, v, scheme=scheme, **places) - attend(q, k, v, scheme=None, **places)).abs().max() < 1e-14


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"n_heads": 0}, "n_heads: needed a whole number >= 1, got 0"),
        ({"head_dim": 2.5}, "head_dim: needed a whole number >= 1, got float 2.5"),
        ({"d_model": 7}, "d_model: needed an even number, a sine and a cosine for each frequency, got 7"),
        ({"layout": "cos_sin"}, "layout"),
        ({"base": -1.0}, "base: needed a positive finite number"),
    ],
)
def test_bad_settings(changes, said):
    with pytest.raises(ValueError, match=said):
        TransformerXL(**{"n_heads": 2, "head_dim": 4, "d_model": 8, "layout": "sin_cos", **changes})


def test_representation_is_the_call():
    scheme = TransformerXL(n_heads=2, head_dim=4, d_model=8, layout="sin_cos")
    assert repr(scheme) == "TransformerXL(n_heads=2, head_dim=4, d_model=8, layout='sin_cos', base=10000.0)"
    assert repr(scheme.heads(0, 1)) == f"{scheme!r}.heads(0, 1)"
    assert eval(scheme.facts.parameters, {}, vars(type(scheme)) | {"n_heads": 2, "head_dim": 4, "d_model": 8}) == sum(
        weight.numel() for weight in scheme.parameters()
    )


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_wrong_formulas_are_found(mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        CHECKS["scheme_oracle"](CASES[0])
