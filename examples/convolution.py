"""Positions serve models without attention too: gated convolutions (Gehring et al. 2017) that must tell where each token is."""

import torch
import torch.nn.functional as F
from torch import nn

from ordinate import Learned, TokenAndPositionEmbedding

WIDTH, KERNEL, BLOCKS, WORDS, LENGTH = 32, 3, 2, 11, 32
SEE_THE_EDGE = BLOCKS * (KERNEL - 1)  # so many tokens are told apart by the padding on their left


class GatedConvolution(nn.Module):
    """x + GLU(convolution of x and what came before), halved in variance."""

    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv1d(WIDTH, 2 * WIDTH, KERNEL)

    def forward(self, x):
        before = F.pad(x.mT, (KERNEL - 1, 0))
        return (x + F.glu(self.convolution(before), dim=1).mT) * 0.5**0.5


class Model(nn.Module):
    def __init__(self, *, at_input=None):
        super().__init__()
        self.embed = TokenAndPositionEmbedding(vocabulary_size=WORDS, d_model=WIDTH, scheme=at_input, scale=None)
        self.blocks = nn.Sequential(*(GatedConvolution() for _ in range(BLOCKS)))
        self.head = nn.Linear(WIDTH, LENGTH)

    def forward(self, tokens, positions):
        return self.head(self.blocks(self.embed(tokens, positions)))


def accuracies(steps=150):
    """How often each model names the place of a token that is too far from the edge to see it."""
    right = {}
    for name, scheme in {"learned": Learned(max_length=LENGTH, d_model=WIDTH), "none": None}.items():
        torch.manual_seed(0)
        model, places = Model(at_input=scheme), torch.arange(LENGTH)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        for _ in range(steps):
            logits = model(torch.randint(WORDS, (16, LENGTH)), range(LENGTH))
            loss = F.cross_entropy(logits.flatten(0, 1), places.repeat(16))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            guesses = model(torch.randint(WORDS, (256, LENGTH)), range(LENGTH)).argmax(-1)
        right[name] = (guesses == places)[:, SEE_THE_EDGE:].float().mean().item()
    return right


if __name__ == "__main__":
    print("accuracy of naming a token's position (chance 0.036)")
    for name, accuracy in accuracies().items():
        print(f"{name:8s} {accuracy:.3f}")
