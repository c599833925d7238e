"""From what the command line names to findings: configurations, folders, GGUF files, objects and source files."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ordinate.checkpoints.kinds import printable
from ordinate.checkpoints.sources import CONFIG, Source, find_source
from ordinate.doctor.comparing import of_two
from ordinate.doctor.configuration import of_configuration, text_part
from ordinate.doctor.finding import Diagnosis, cannot, diagnosis
from ordinate.doctor.folder import Folder, beside, list_folder
from ordinate.doctor.gguf_files import of_gguf
from ordinate.doctor.looked import Looked
from ordinate.doctor.parents import ADAPTER, base_of, merged_from
from ordinate.doctor.tensors import read_tensors
from ordinate.doctor.weights import of_frequencies, of_tables, of_tokenizer

OBJECT = re.compile(r"[A-Za-z_]\w*(\.\w+)*:[A-Za-z_][\w.]*( +\w+=\S+)*")


def look(target: str) -> Looked:
    """Look at one target; whatever goes wrong is a finding.

    Args:
        target: a path, or ``package.module:Object``.

    Returns:
        What was found.

    Example:
        >>> look("missing.json").findings[0].code
        'ORD901'
    """
    name = printable(target)
    try:
        found = _look(target)
    except OSError as error:
        found = Looked(target=name, findings=(cannot(f"could not read ({error.strerror or error})"),))
    except (ValueError, RecursionError) as error:
        found = Looked(target=name, findings=(cannot(_one_line(error)),))
    return Looked(**{**vars(found), "findings": tuple(each.of(name) for each in found.findings)})


def compared(one: Looked, other: Looked) -> list[Diagnosis]:
    """Compare two targets.

    Args:
        one: from ``look``.
        other: the second.

    Returns:
        Findings about both together.
    """
    if not one.comparable or not other.comparable:
        return []
    return [each.of(f"{one.target} and {other.target}") for each in of_two(one, other)]


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if text.isprintable() else repr(text)


def _look(target: str) -> Looked:
    if "\0" in target or len(target) > 4096:
        raise ValueError("needed a path, got one that no file has")
    path = Path(target)
    if OBJECT.fullmatch(target) and not path.exists():
        return Looked(target=target, findings=tuple(_by_code("diagnose_object", target)))
    if path.suffix == ".py":
        return Looked(target=target, findings=tuple(_by_code("diagnose_source", target)))
    if path.is_dir():
        return _of_folder(target, list_folder(path))
    if path.suffix.lower() == ".gguf":
        return of_gguf(target, path)
    if path.suffix.lower() == ".safetensors":
        return _of_tensors(target, path)
    if path.name == ADAPTER:
        return _of_folder(target, list_folder(path.parent))
    return _of_values(target, find_source(target))


def _by_code(function: str, target: str) -> list[Diagnosis]:
    """What runs or reads code is loaded only if it is asked for."""
    diagnose: Callable[[str], list[Diagnosis]] = getattr(importlib.import_module("ordinate.doctor.code"), function)
    return list(diagnose(target))


def _of_values(target: str, source: Source) -> Looked:
    found, plan, turned = of_configuration(source)
    return Looked(target=target, findings=tuple(found), plan=plan, rotations=tuple(turned), comparable=True)


def _of_tensors(target: str, path: Path) -> Looked:
    """One safetensors file, with the configuration beside it if there is one."""
    folder = list_folder(path.parent)
    inside = Folder(path=folder.path, shards=(path,), ggufs=(), pickles=(), names=folder.names)
    if not path.is_file():
        read_tensors(path)
    return _of_folder(target, inside)


def _of_folder(target: str, folder: Folder) -> Looked:
    said = beside(folder, ADAPTER)
    has_config = CONFIG in folder.names
    if not has_config and not folder.shards and said is None:
        if len(folder.ggufs) == 1:
            return of_gguf(target, folder.ggufs[0])
        got = f"{len(folder.ggufs)} GGUF files; name one" if folder.ggufs else "none of these"
        raise ValueError(f"needed {CONFIG}, safetensors, an adapter or one GGUF file in the folder, got {got}")
    own = _of_values(target, find_source(folder.path / CONFIG)) if has_config else Looked(target=target, findings=())
    found = list(own.findings)
    if not has_config and folder.shards:
        found.append(diagnosis("ORD902", f"no {CONFIG} beside the weights: they were compared with each other alone"))
    values = text_part(find_source(folder.path / CONFIG).values or {}) if has_config else {}
    tensors = []
    for path in folder.shards:
        try:
            tensors += read_tensors(path)
        except (ValueError, OSError) as fault:
            found.append(cannot(f"{printable(path.name)}: {_reason(fault)}"))
    found += of_frequencies(tensors, own.rotations)
    found += of_tables({each.name: each.shape for each in tensors}, own.plan, values)
    for name, key in (("tokenizer_config.json", "model_max_length"), ("sentence_bert_config.json", "max_seq_length")):
        found += of_tokenizer(own.plan, beside(folder, name), key)
    if folder.pickles:
        found.append(diagnosis("ORD903", f"not opened: {', '.join(map(printable, folder.pickles[:5]))}"))
    found += _with_parents(own, folder, said)
    return Looked(
        target=target, findings=tuple(found), plan=own.plan, rotations=own.rotations, gguf=False, comparable=own.comparable
    )


def _reason(fault: OSError | ValueError) -> str:
    return f"could not read ({fault.strerror or fault})" if isinstance(fault, OSError) else str(fault)


def _with_parents(own: Looked, folder: Folder, said: Any) -> Iterator[Diagnosis]:
    """An adapter beside its base, a merged model beside what it was made of."""
    bases = list(merged_from(folder))
    if said is not None:
        base, note = base_of(said, folder.path)
        if note is not None:
            yield note
        if base is not None and os.path.realpath(base) != os.path.realpath(folder.path):
            bases.append(base)
    looked = []
    for base in bases:
        try:
            looked.append(_of_values(str(base), find_source(base / CONFIG)))
        except (ValueError, OSError) as fault:
            yield cannot(f"{printable(str(base))}: {_reason(fault)}")
    for each in looked if own.comparable else ():
        yield from (one.of(f"{own.target} and {each.target}") for one in of_two(own, each))
    if not own.comparable:
        yield from (one.of(each.target) for each in looked for one in each.findings)
    for place, one in enumerate(looked):
        for other in looked[place + 1 :] if not own.comparable or len(looked) < 8 else ():
            yield from (each.of(f"{one.target} and {other.target}") for each in of_two(one, other) if each.severity != "note")
