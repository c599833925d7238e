"""The site, built once for all tests that look at it."""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path

import pytest
from built_site import Kept, Site
from links import parsed

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    commands = pytest.importorskip("mkdocs.commands.build", reason="pip install '.[docs]'")
    from mkdocs.config import load_config
    from mkdocs.exceptions import Abort

    folder = tmp_path_factory.mktemp("site")
    kept = Kept()
    logging.getLogger("mkdocs").addHandler(kept)
    try:
        config = load_config(str(ROOT / "mkdocs.yml"), strict=True, site_dir=str(folder))
        config.plugins.on_startup(command="build", dirty=False)
        with contextlib.suppress(Abort):  # what it was that made it stop, is kept
            commands.build(config)
    finally:
        logging.getLogger("mkdocs").removeHandler(kept)
    pages = {path.relative_to(folder).as_posix(): parsed(path) for path in folder.rglob("*.html")}
    return Site(folder, pages, kept.said)
