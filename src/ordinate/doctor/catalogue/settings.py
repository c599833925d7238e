"""Codes of what a configuration declares."""

from __future__ import annotations

from ordinate.doctor.catalogue.entry import Entry

SETTINGS = (
    Entry(
        code="ORD101",
        title="a declared key is dropped",
        severity="error",
        kind="config-key-dropped",
        what="A key about positions that the model type does not read, under a name that is misspelt, or that belongs to "
        "another format.",
        why="The model runs with a default in place of the declared number. Short prompts look right; long ones do not.",
        example='{"model_type": "gpt_neox", "rope_teta": 1000000.0}: the base stays 10000. At position 1000 and head_dim 128,'
        " pair 1 turns by 865.9643 rad where 805.8422 rad were meant.",
        mend="Use the name that the finding gives, or remove the key if it is a leftover.",
        is_not="A key that nobody knows and that resembles none: DeepSeek-R1's distilled Qwen3 ships attn_factor 0.8782489, "
        "which cancels YaRN's default on purpose.",
    ),
    Entry(
        code="ORD102",
        title="two sources disagree",
        severity="error",
        kind="config-key-dropped",
        what="The same setting is declared in two places with two values.",
        why="Which one counts depends on the program that reads the file, and on its version.",
        example='{"rope_theta": 10000.0, "rope_parameters": {"rope_theta": 500000.0, "rope_type": "default"}}',
        mend="Keep the one that the weights were trained with, and remove the other.",
        is_not="Two spellings with one value.",
    ),
    Entry(
        code="ORD103",
        title="an unknown rule, or a value that is missing or does not fit",
        severity="error",
        kind="config-key-dropped",
        what="A rule that nobody knows, a number out of range, or a rule without a number that it needs.",
        why="Readers fall back to a default, often without a word, or stop while the model is built.",
        example='{"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}: low_freq_factor, high_freq_factor and the trained '
        "length are missing, so 29 of 64 pairs would keep the speed that should be divided by 8.",
        mend="Declare what the finding names.",
        is_not="Numbers that are left out because the model type has a default.",
    ),
    Entry(
        code="ORD104",
        title="the factor does not reach the declared length",
        severity="warning",
        kind="config-key-dropped",
        what="factor x original length is below max_position_embeddings, for the rules linear, dynamic and YaRN.",
        why="Positions beyond the product reach phases that no weight has met.",
        example='{"max_position_embeddings": 131072, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, '
        '"original_max_position_embeddings": 8192}}: the rule reaches 32768.',
        mend="Raise the factor, or declare the length that it reaches.",
        is_not="Llama 3's rule, whose published factor 8 over 8192 serves 131072; a product above the declared length.",
    ),
    Entry(
        code="ORD105",
        title="layers that need settings of their own get those of others",
        severity="error",
        kind="per-layer-schedule",
        what="One flat dictionary where layer types have a base or rule each, a list of layers of the wrong length, or one"
        " base for both types of a model that was trained with two.",
        why="Local layers then turn at the speed of global ones, or the reverse.",
        example="A global layer with theta 1e6 and linear factor 8, a local one with theta 1e4; position 8, pair 0: cosine "
        "0.540302 globally, -0.145500 locally.",
        mend="Write one dictionary a layer type, and one entry a layer.",
        is_not="OLMo 3, whose layer types share a base and differ by the rule alone.",
    ),
    Entry(
        code="ORD106",
        title="the part of a head that turns is wrong",
        severity="error",
        kind="partial-rotary",
        what="A share that gives an odd number of entries or more than the head has, two declarations that differ, a share"
        " for a model type that turns whole heads, or frequencies made for the whole head.",
        why="Pairs are cut in two, or every frequency but the first is wrong.",
        example="head 8, rotary part 4, base 1e4: frequencies [1, 0.01]; made for the whole head they would be [1, 0.1].",
        mend="Make frequencies of the entries that turn: base^(-2 i / rotary_dim).",
        is_not="A head of another width than hidden_size / heads.",
    ),
    Entry(
        code="ORD107",
        title="the magnitude of cos and sin is contradictory",
        severity="warning",
        kind="yarn-magnitude",
        what="attention_factor, attn_factor, mscale and mscale_all_dim that contradict each other, the square of the usual"
        " magnitude, that of another factor, or one of two numbers that only work together.",
        why="Programs apply the magnitude 0, 1 or 2 times, and every score is off by its square.",
        example='{"rope_type": "yarn", "factor": 4.0, "attention_factor": 1.296476}: the square of 1.138629.',
        mend="0.1 ln(factor) + 1 once, on cos and sin; DeepSeek's softmax scale is a number of its own.",
        is_not="attn_factor 1 / (0.1 ln(factor) + 1), which cancels the default; mscale equal to mscale_all_dim.",
    ),
    Entry(
        code="ORD108",
        title="LongRoPE's lists or lengths do not fit",
        severity="error",
        kind="longrope-switch",
        what="Lists of another length than there are pairs, short and long exchanged, no trained length, or a factor that "
        "is not the ratio of the lengths.",
        why="The wrong list is chosen, or the magnitude sqrt(1 + ln(factor) / ln(original)) is wrong.",
        example="Trained length 4, prompt 3, generated to 5: all keys must be those of the long list, or all of the short one.",
        mend="One number a pair in both lists, and original_max_position_embeddings beside them.",
        is_not="A long list whose fastest pairs have factors near 1.",
    ),
    Entry(
        code="ORD109",
        title="dynamic NTK from another length than the trained one",
        severity="warning",
        kind="dynamic-ntk",
        what="The rule dynamic beside a trained length that differs from max_position_embeddings, which is the length that"
        " it reads, or an alpha that the model type does not read.",
        why="The base stays as it is up to the declared maximum, where it should have grown.",
        example="d=128, base 1e4, factor 2, trained 2048: at 4096 tokens the base is 30527.737; with max_position_embeddings "
        "4096 it is 10000 still.",
        mend="Declare the trained length as max_position_embeddings.",
        is_not="The rule without a trained length: it takes max_position_embeddings for it.",
    ),
    Entry(
        code="ORD110",
        title="an old spelling",
        severity="note",
        kind=None,
        what="A name that newer versions write otherwise: rope_scaling for rope_parameters, type for rope_type, su for longrope.",
        why="It is read all the same; tools that edit the file may add the new name beside the old one, and then two "
        "sources disagree.",
        example='{"rope_scaling": {"type": "su"}}',
        mend="Nothing must be done.",
        is_not="A misspelt key.",
    ),
    Entry(
        code="ORD111",
        title="a key that changes nothing",
        severity="note",
        kind="config-key-dropped",
        what="A key that this model type or this rule does not read and that repeats, limits or describes only; or one "
        "that nobody knows. A number of a rule beside another rule is a warning, since somebody meant it to count.",
        why="It is no fault by itself, but it cannot be relied upon.",
        example='{"rope_scaling": {"rope_type": "linear", "factor": 2.0, "beta_fast": 32.0}}: linear has no ramp.',
        mend="Remove it, or choose the rule that reads it.",
        is_not="A key that the model type reads.",
    ),
    Entry(
        code="ORD202",
        title="wavelengths that the trained length never completes",
        severity="note",
        kind=None,
        what="Pairs whose wavelength 2 pi / w is longer than the trained length.",
        why="Beyond that length they reach phases that training did not show; a rule must slow them.",
        example="base 1e4, head_dim 128, trained on 4096: 18 of 64 pairs.",
        mend="Nothing, unless longer texts are to be read: then a rule, which `ordinate theory` compares.",
        is_not="A fault: most checkpoints have such pairs.",
    ),
    Entry(
        code="ORD203",
        title="precision at the declared maximum",
        severity="note",
        kind="low-precision-phase",
        what="What is lost where positions or angles are kept in the dtype that the file declares: half a unit in the last"
        " place of the largest angle, and how many neighbouring positions are one number.",
        why="A model-wide cast that reaches the frequencies, or autocast around the product, makes it real.",
        example="bfloat16 at 131072: 512 neighbouring positions are one number.",
        mend="Keep positions as integers and frequencies in float32; multiply outside of autocast.",
        is_not="A fault of the file: code that keeps angles in float32 loses nothing.",
    ),
)
