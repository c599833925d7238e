"""``python -m benchmarks.survey --output docs/survey.md``: exit status 1 if something known is not found."""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

from benchmarks.survey import cases, families, page


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    import transformers

    transformers.logging.set_verbosity_error()
    found, left = families.families()
    reports = []
    for family in found:
        print(family.types[0], flush=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                reports.append((family, families.checked(family)))
            except ValueError as fault:
                left |= dict.fromkeys(family.types, " ".join(str(fault).split()))
    results = []
    for case in cases.CASES:
        print(case.package, case.what, flush=True)
        results.append((case, cases.checked(case)))
    options.output.write_text(page.page(reports, dict(sorted(left.items())), results), encoding="utf-8")
    not_found = page.missed(results)
    print(f"written: {options.output}", *(f"not found: {what}" for what in not_found), sep="\n")
    return 1 if not_found else 0


if __name__ == "__main__":
    sys.exit(main())
