"""What ordinate.checkpoints.read makes of every configuration class of transformers, with its default values. Prints JSON."""

import collections
import importlib
import inspect
import json
import pkgutil
import platform
import sys
import warnings

import transformers
from transformers import PreTrainedConfig, models

from ordinate import checkpoints


def configuration_classes():
    """Every class of a model folder that is a configuration of its own, by folder and name."""
    found = {}
    for folder in pkgutil.iter_modules(models.__path__):
        package = importlib.import_module(f"transformers.models.{folder.name}")
        for file in pkgutil.iter_modules(getattr(package, "__path__", [])):
            if not file.name.startswith("configuration_"):
                continue
            module = importlib.import_module(f"{package.__name__}.{file.name}")
            for name, kind in vars(module).items():
                if inspect.isclass(kind) and issubclass(kind, PreTrainedConfig) and kind.__module__ == module.__name__:
                    found[f"{folder.name}:{name}"] = kind
    return found


def outcome(kind):
    """ "plan: model type", or the first line of what refused it."""
    try:
        config = kind()
    except Exception as error:  # the two that want arguments say so each in a way of its own
        return f"not made: {type(error).__name__}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return f"plan: {checkpoints.read(config).model_type}"
        except ValueError as refusal:
            text = str(refusal)
    if "is not in the table" in text:
        return f"refused: model type {config.model_type} is not in the table"
    if "model_type: needed" in text:
        return "refused: it has no model type"
    return f"refused: {text}"


def tally():
    transformers.logging.set_verbosity_error()
    outcomes = {name: outcome(kind) for name, kind in sorted(configuration_classes().items())}
    counts = collections.Counter(text.split(":")[0] for text in outcomes.values())
    return {
        "command": "python benchmarks/default_configs.py",
        "versions": {"transformers": transformers.__version__, "python": platform.python_version()},
        "counts": dict(sorted(counts.items())),
        "plans": {name: text.removeprefix("plan: ") for name, text in outcomes.items() if text.startswith("plan")},
        "others": {name: text for name, text in outcomes.items() if not text.startswith("plan")},
    }


if __name__ == "__main__":
    json.dump(tally(), sys.stdout, indent=1)
    print()
