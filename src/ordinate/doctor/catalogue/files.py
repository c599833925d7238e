"""Codes of what weights, tables and several files together show, and of what could not be looked at."""

from __future__ import annotations

from ordinate.doctor.catalogue.entry import Entry

FILES = (
    Entry(
        code="ORD602",
        title="a table and the declared length differ",
        severity="error",
        kind="table-range-and-base",
        what="A table of positions or of relative distances has fewer rows than the configuration declares, or more; or "
        "the tokenizer lets through more tokens than the table has rows.",
        why="The position after the last row is read past the end: on a GPU an asynchronous assert that poisons the process.",
        example="4 rows, 5 positions: needed an error before any kernel runs, naming 5 > 4.",
        mend="Declare the number of rows that there are; truncate, resize or wrap longer inputs.",
        is_not="Two rows more than max_position_embeddings in BART, OPT and their kin: their position p reads row p + 2.",
    ),
    Entry(
        code="ORD603",
        title="the rows for padding are missing, or counted twice",
        severity="error",
        kind="table-range-and-base",
        what="A table that is short or long by exactly the rows that stand before position 0.",
        why="Every token reads the row of another position.",
        example="BART declares 1024 positions and has 1026 rows; RoBERTa declares 514 rows and serves 512 positions.",
        mend="Add the padding offset once, in the place where the model type has it.",
        is_not="A declared length that counts those rows where the model type does so, as RoBERTa's 514.",
    ),
    Entry(
        code="ORD701",
        title="derived frequencies are stored with the weights",
        severity="note",
        kind="derived-keys-in-checkpoint",
        what="inv_freq and the like in a checkpoint. Equal to what follows from the configuration: a note. Different: an "
        "error, which names the cause: rounded to bfloat16 or float16, made without the rule, of another base, "
        "divided by a factor, or none of these.",
        why="A program that loads them turns by other angles than one that derives them.",
        example="layers.0.attn.rotary_emb.inv_freq = [1, 0.1, 0.01, 0.001], d = 8: equal for base 1e4.",
        mend="Leave them out of the state dict (persistent=False), and put the true base or rule into the configuration.",
        is_not="A vector that agrees to float32's rounding.",
    ),
    Entry(
        code="ORD801",
        title="weights of models with different positions are mixed",
        severity="error",
        kind="provenance-mix",
        what="Two checkpoints, an adapter and its base, merged parents, or layers of one checkpoint whose base, rule, "
        "width or scheme differ.",
        why="Queries and keys of one were never trained for the angles of the other.",
        example="d=128, theta 1e4 and 5e5: the last pair's frequency differs 47.04x.",
        mend="Merge models with equal settings, or keep the settings of the weights that were trained.",
        is_not="Layer types that differ by design, as Gemma 3's.",
    ),
    Entry(
        code="ORD802",
        title="two checkpoints declare different lengths",
        severity="note",
        kind=None,
        what="Equal schemes, another max_position_embeddings or window.",
        why="It changes no angle; which texts are served may differ.",
        example="4096 beside 32768, with one base and no rule.",
        mend="Declare the shorter one where both are used.",
        is_not="Another base.",
    ),
    Entry(
        code="ORD901",
        title="it could not be looked at",
        severity="error",
        kind=None,
        what="A target that is not there, is no regular file, is damaged, is too large, or is no JSON, safetensors or GGUF.",
        why="Nothing was checked. The exit status is 2, so that no pipeline takes silence for health.",
        example="A safetensors file whose header is longer than the file.",
        mend="As the message says.",
        is_not="A finding about positions.",
    ),
    Entry(
        code="ORD902",
        title="looked at in part",
        severity="note",
        kind=None,
        what="The model type is unknown or not said, sizes are missing, or a base model is not on this disk: rules that "
        "need them were not asked.",
        why="What needs no model type was checked: contradictions, names, rules and their numbers.",
        example='{"rope_theta": 10000.0, "head_dim": 128} without a model_type.',
        mend="Say the model type, if it is one of those that `ordinate read --types` lists.",
        is_not="A fault.",
    ),
    Entry(
        code="ORD903",
        title="weights that were not opened",
        severity="note",
        kind=None,
        what=".bin, .pt and .pth files are pickles: opening one runs code. They are left alone.",
        why="Stored frequencies and tables inside them were not compared.",
        example="pytorch_model.bin beside config.json.",
        mend="Convert them to safetensors.",
        is_not="A fault.",
    ),
)
