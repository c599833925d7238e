"""Which page of the site stands for which file of the repository, and the schemes' titles."""

from __future__ import annotations

# In the library's order: the input, queries and keys, scores, and none.
TITLES = {
    "sinusoidal": "Sinusoidal vectors",
    "learned": "Learned table",
    "rope": "RoPE",
    "axial_rope": "Axial RoPE",
    "multimodal_rope": "Multimodal RoPE",
    "entrywise_rope": "Entrywise RoPE",
    "alibi": "ALiBi",
    "t5": "T5's bias",
    "shaw": "Shaw's relative vectors",
    "deberta": "DeBERTa",
    "transformer_xl": "Transformer-XL",
    "nope": "No scheme (NoPE)",
}
ORDER = tuple(TITLES)
# Pages that stand at the repository's root: their links start from there.
ROOT_PAGES = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
HOMES = {
    **{path: page for page, path in ROOT_PAGES.items()},
    **{f"src/ordinate/schemes/{name}.py": f"schemes/{name}.md" for name in TITLES if name != "nope"},
    "src/ordinate/schemes": "schemes/index.md",
    "src/ordinate/scaling": "scaling.md",
    "src/ordinate/claims": "claims.md",
    "src/ordinate/__init__.py": "api/index.md",
    "README.md": "index.md",
    "README.ru.md": "ru/index.md",
}
# Where a Russian page's link leads to instead.
RUSSIAN_HOMES = {"src/ordinate/claims": "ru/claims.md"}
