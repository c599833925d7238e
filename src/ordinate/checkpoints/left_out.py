"""Model types that no plan can say exactly, and why."""

from __future__ import annotations

MISTRAL_LARGE4 = (
    "its frequencies and its queries' growth are learned, a number a pair and two a head, and no configuration holds weights"
)
BOXES = "boxes on the page have tables of their own"
CALLED = "each call names the tokens that see past the window"
OTHERWISE = "its attention is no softmax over all keys"

LEFT_OUT: dict[str, str] = {
    "autoformer": "it attends to delays, by autocorrelation",
    "big_bird": "its attention sees blocks, some of them drawn at random",
    "bigbird_pegasus": "its attention sees blocks, some of them drawn at random",
    "blip_text_model": "whether it looks back only is told in each call",
    "bros": BOXES,
    "canine": "characters are hashed and read by convolutions and windows",
    "convbert": "convolutions stand in for half of the heads",
    "decision_transformer": "positions are time steps, which the caller gives",
    "esmfold2": "axes have pairs of unequal number and bases of their own, and atoms have coordinates in space",
    "fnet": "it mixes tokens by Fourier transforms and does not attend",
    "informer": "its attention leaves out queries that are nearly uniform",
    "layoutlm": BOXES,
    "layoutlmv2": BOXES,
    "layoutlmv3": BOXES,
    "led": CALLED,
    "lightglue": "angles are a learned linear map of keypoints, weights and not frequencies",
    "lilt": BOXES,
    "longformer": CALLED,
    "longt5": "its encoder attends to blocks, and to sums of blocks with a bias of their own",
    "luke": "entities have a table of their own, and take the mean of several rows",
    "markuplm": "paths in the document have tables of their own",
    "mistral_large4": MISTRAL_LARGE4,
    "mistral_large4_text": MISTRAL_LARGE4,
    "mra": OTHERWISE,
    "musicflamingo": "features at the input are turned, by products of two times and in float64, and not queries and keys",
    "nystromformer": OTHERWISE,
    "pegasus_x": "its sinusoids are computed in the activations' dtype",
    "prophetnet": "its decoder predicts several tokens at once, each with a bias of its own",
    "sew-d": "a convolution over the frames gives positions too",
    "speecht5": "what stands at the input depends on the part that is loaded, text or speech",
    "tapas": "cells of the table have rows of their own, and positions start again in each cell",
    "time_series_transformer": "the decoder counts on from the length of the context, which its configuration may leave open",
    "udop": BOXES,
    "visual_bert": "regions of the image have a table of their own",
    "vits": "distances beyond the window get no vector at all",
    "yoso": OTHERWISE,
}
