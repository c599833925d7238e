"""Records as tables for people."""


def tables(records):
    """A table for every group of columns, then all targets."""
    groups = {}
    for record in records:
        groups.setdefault((record["part"], record["group"]), []).append(record)
    parts = [_table(part, group, found) for (part, group), found in groups.items()]
    return "\n\n".join([*parts, _targets(records)])


def count_met(records):
    """How many targets are met, and how many there are."""
    verdicts = [target["met"] for record in records for target in record.get("targets", ())]
    return sum(verdicts), len(verdicts)


def _table(part, group, records):
    columns = [record for record in records if "rows" in record]
    exponents = next((record["exponents"] for record in records if "exponents" in record), None)
    names = list(dict.fromkeys(name for record in columns for name in record["rows"]))
    head = ["", *(record["column"] for record in columns), *(["exponent"] if exponents else [])]
    lines = [[name, *(_cell(record, name) for record in columns)] for name in names]
    if exponents:
        lines = [[*line, "-" if exponents[line[0]] is None else f"{exponents[line[0]]:.2f}"] for line in lines]
    return "\n".join([_title(part, group, columns), *_aligned([head, *lines]), *_reasons(columns)])


def _title(part, group, columns):
    shown = {
        "ratio": f"ratio to {columns[0]['limit']}, whose time is given",
        "seconds": "time",
        "figures": columns[0]["unit"],
    }
    return f"{part}: {group} ({shown[columns[0]['shown']]})"


def _cell(record, name):
    row = record["rows"].get(name, {})
    if "median" not in row:
        return "-"
    if record["shown"] == "figures":
        return f"{row['median']:g}"
    if record["shown"] == "seconds" or name == record["limit"]:
        return duration(row["median"])
    return f"{row['ratio']:.2f}" if row["ratio"] is not None else duration(row["median"])


def duration(seconds):
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def _reasons(columns):
    """Every reason once, with the columns it holds in."""
    found = {}
    for record in columns:
        for name, row in record["rows"].items():
            if "left_out" in row:
                found.setdefault((name, row["left_out"]), []).append(record["column"])
    return [f"  {name}: {reason} ({', '.join(where)})" for (name, reason), where in found.items()]


def _targets(records):
    lines = [["part", "column", "row", "against", "ratio", "at most", ""]]
    for record in records:
        for target in record.get("targets", ()):
            ratio = "-" if target["ratio"] is None else f"{target['ratio']:.3f}"
            verdict = "met" if target["met"] else "NOT MET"
            where = f"{record['group']}, {record['column']}"
            lines.append([record["part"], where, target["row"], target["against"], ratio, f"{target['at_most']:.3f}", verdict])
    met, of = count_met(records)
    return "\n".join(["targets", *_aligned(lines), f"{met} of {of} targets met"])


def _aligned(lines):
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
