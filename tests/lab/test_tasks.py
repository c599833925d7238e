"""The compare tasks ask what they say: right targets, the same targets at every length, held-out bytes never trained on."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path

import pytest
import torch
from lab_tools import SMALL

from ordinate.lab.tasks import ShiftTask, TextTask, read_corpus
from ordinate.lab.train import run


def corpus_file(folder: Path, size: int = 20_000) -> Path:
    file = folder / "text.txt"
    file.write_bytes(bytes(torch.randint(256, (size,), generator=torch.Generator().manual_seed(5)).tolist()))
    return file


def test_shift_targets_are_the_token_five_back() -> None:
    batch = ShiftTask(length=12, longest=24, windows=4, seed=1).batch(3, torch.Generator().manual_seed(0))
    scored = batch.targets[:, -batch.scored :]
    for row in range(3):
        for place in range(5, 12):
            assert scored[row, place - 5] == batch.tokens[row, place - 5]
    assert batch.scored == 12 - 5


def test_shift_asks_for_the_same_targets_at_every_length() -> None:
    task = ShiftTask(length=16, longest=64, windows=8, seed=1)
    short, long = task.evaluation(16), task.evaluation(64)
    assert short.scored == long.scored == 4
    assert torch.equal(short.targets[:, -4:], long.targets[:, -4:])
    assert torch.equal(short.tokens, long.tokens[:, -16:])


def test_text_asks_for_the_same_bytes_at_every_length(tmp_path: Path) -> None:
    corpus = read_corpus([corpus_file(tmp_path)], longest=64)
    task = TextTask(corpus, length=16, longest=64, windows=9)
    short, long = task.evaluation(16), task.evaluation(64)
    assert torch.equal(short.targets[:, -4:], long.targets[:, -4:])
    assert torch.equal(long.targets[:, :-1], long.tokens[:, 1:])
    assert long.tokens.shape == (9, 64)
    assert len(set(task.ends)) == 9


def test_held_out_bytes_are_never_trained_on(tmp_path: Path) -> None:
    file = corpus_file(tmp_path)
    corpus = read_corpus([file], longest=64)
    data = file.read_bytes()
    assert bytes(corpus.train.tolist()) == data[:18_000]
    assert bytes(corpus.held_out.tolist()) == data[18_000:]
    assert corpus.sha256 == hashlib.sha256(data).hexdigest()


def test_next_byte_is_the_target(tmp_path: Path) -> None:
    corpus = read_corpus([corpus_file(tmp_path)], longest=64)
    batch = TextTask(corpus, length=16, longest=64, windows=4).batch(5, torch.Generator().manual_seed(2))
    assert torch.equal(batch.targets[:, :-1], batch.tokens[:, 1:])
    assert batch.scored == 16


def decoded(numbers: torch.Tensor, data: bytes) -> bytes:
    """Tokens as bytes again: the numbers count the text's own bytes in order."""
    alphabet = sorted(set(data))
    return bytes(alphabet[number] for number in numbers.tolist())


@pytest.mark.parametrize("letters", [b"abcz \n", bytes(range(256)), bytes(range(128, 256))], ids=["few", "all 256", "upper half"])
def test_tokens_are_numbers_of_the_texts_own_bytes(tmp_path: Path, letters: bytes) -> None:
    drawn = torch.randint(len(letters), (4000,), generator=torch.Generator().manual_seed(1)).tolist()
    data = letters + bytes(letters[place] for place in drawn)
    file = tmp_path / "text.txt"
    file.write_bytes(data)
    corpus = read_corpus([file], longest=64)
    task = TextTask(corpus, length=16, longest=64, windows=9)
    assert task.vocabulary_size == len(letters)
    cut = len(data) - round(len(data) / 10)
    batch = task.batch(20, torch.Generator().manual_seed(2))
    for tokens, targets in zip(batch.tokens, batch.targets, strict=True):
        assert decoded(tokens, data) + decoded(targets[-1:], data) in data[:cut]
        assert torch.equal(tokens[1:], targets[:-1])
    shown = task.evaluation(64)
    for end, tokens, targets in zip(task.ends, shown.tokens, shown.targets, strict=True):
        assert decoded(tokens, data) == data[cut:][end - 64 : end]
        assert decoded(targets, data) == data[cut:][end - 63 : end + 1]


def test_bytes_that_only_the_held_out_part_has_are_tokens_too(tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    data = b"ab" * 900 + b"\xff" * 200
    file.write_bytes(data)
    task = TextTask(read_corpus([file], longest=64), length=16, longest=64, windows=2)
    assert task.vocabulary_size == 3
    assert decoded(task.evaluation(64).tokens[-1], data) == b"\xff" * 64


def test_a_model_learns_from_a_text_with_all_bytes(tmp_path: Path) -> None:
    task = TextTask(read_corpus([corpus_file(tmp_path)], longest=32), length=16, longest=32, windows=4)
    outcome = run("nope", task, SMALL, 0, lambda _: None)
    # Random bytes cannot be foretold, and three steps teach no false certainty.
    assert outcome.losses == pytest.approx([math.log(256)] * 2, abs=1.0)


def test_default_text_is_english_prose_with_a_known_hash() -> None:
    from pydoc_data.topics import topics

    corpus = read_corpus([], longest=512)
    assert corpus.sha256 == hashlib.sha256("\n".join(topics.values()).encode()).hexdigest()
    assert b" the " in bytes(corpus.train.tolist())
    task = TextTask(corpus, length=64, longest=512, windows=2)
    assert task.vocabulary_size == len(set("\n".join(topics.values()).encode()))


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", r"needed a file with text, got .*text\.txt, which is empty"), (b"tiny", "needed at least 1280 bytes .* got 4 from")],
)
def test_empty_and_tiny_texts_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "text.txt"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_corpus([file], longest=64)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"needed a readable file, got .*absent\.txt \(No such file or directory\)"):
        read_corpus([tmp_path / "absent.txt"], longest=64)
