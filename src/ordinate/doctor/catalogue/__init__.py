"""Every code that ``ordinate doctor`` knows, and what it means. The pages under docs/findings are made of it."""

from __future__ import annotations

from ordinate.doctor.catalogue.code import CODE
from ordinate.doctor.catalogue.entry import Entry as Entry
from ordinate.doctor.catalogue.entry import Severity as Severity
from ordinate.doctor.catalogue.files import FILES
from ordinate.doctor.catalogue.settings import SETTINGS

ENTRIES: dict[str, Entry] = {entry.code: entry for entry in sorted((*SETTINGS, *CODE, *FILES), key=lambda entry: entry.code)}
