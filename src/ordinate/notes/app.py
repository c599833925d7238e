"""The page itself, a marimo app: which control moves which figure. All that is computed or said is in the modules beside it."""
# mypy: disable-error-code="no-untyped-def, var-annotated"
# marimo writes cells as functions without types.

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="ordinate notes", css_file="app.css")

with app.setup:
    import marimo as mo

    from ordinate.claims.claim import TITLES
    from ordinate.notes import controls, curves, figures, linked, results, words
    from ordinate.notes.texts import SECTIONS, TEXTS


@app.function
def opening(section, language, elements=(), text=None):
    """A section's heading, what it says, and its controls in a row."""
    said = text or TEXTS[f"{section}_says"].said(language)
    heading = mo.md(f"## {SECTIONS.index(section) + 1}. {TEXTS[section].said(language)}\n\n{said}")
    return mo.vstack([heading, mo.Html(controls.row(elements))])


@app.function
def claims(section, language):
    """A box for each claim of a section; opening it runs the check."""
    boxes = {
        linked.label(name, language=language): lambda name=name: mo.md(linked.opened(name, language=language))
        for name in linked.CLAIMED[section]
    }
    return mo.vstack([mo.md(f"### {TEXTS['claims'].said(language)}"), mo.accordion(boxes, multiple=True, lazy=True)], gap=0)


@app.cell
def _():
    kept = {}
    comparison, comparison_path = results.chosen()
    switch = mo.ui.radio(
        {"English": "en", "Русский": "ru"}, value={"en": "English", "ru": "Русский"}[results.first_language()], inline=True
    )
    switch
    return comparison, comparison_path, kept, switch


@app.cell
def _(switch):
    language = switch.value
    mo.md(f"# {TEXTS['title'].said(language)}\n\n{TEXTS['intro'].said(language)}")
    return (language,)


@app.cell
def _(kept, language):
    width, base, length, layout = controls.encoding(kept, language).values()
    opening("encoding", language, (width, base, length, layout))
    return base, layout, length, width


@app.cell
def _(base, language, layout, length, width):
    mo.Html(figures.heatmap(width=width.value, base=base.value, length=length.value, layout=layout.value, language=language))
    return


@app.cell
def _(base, language, layout, length, width):
    mo.Html(figures.waves(width=width.value, base=base.value, length=length.value, layout=layout.value, language=language))
    return


@app.cell
def _(language):
    claims("encoding", language)
    return


@app.cell
def _(kept, language):
    query, key, shift, head_width, rope_base, pairs = controls.rotation(kept, language).values()
    opening("rotation", language, (query, key, shift, head_width, rope_base, pairs))
    return head_width, key, pairs, query, rope_base, shift


@app.cell
def _(head_width, key, language, pairs, query, rope_base, shift):
    mo.Html(
        figures.clock_hands(
            query=query.value,
            key=key.value,
            shift=shift.value,
            head_width=head_width.value,
            base=rope_base.value,
            layout=pairs.value,
            language=language,
        )
    )
    return


@app.cell
def _(head_width, key, language, query, rope_base, shift):
    mo.md(
        figures.score(
            query=query.value,
            key=key.value,
            shift=shift.value,
            head_width=head_width.value,
            base=rope_base.value,
            language=language,
        )
    )
    return


@app.cell
def _(language):
    claims("rotation", language)
    return


@app.cell
def _(kept, language):
    scheme, reach = controls.distance(kept, language).values()
    opening("distance", language, (scheme, reach))
    return reach, scheme


@app.cell
def _(kept, language, scheme):
    heads, used = controls.heads(kept, scheme.value, language)
    mo.Html(controls.row([heads])) if used else None
    return (heads,)


@app.cell
def _(heads, language, reach, scheme):
    mo.Html(figures.against_distance(scheme=scheme.value, heads=heads.value, reach=reach.value, language=language))
    return


@app.cell
def _(language):
    claims("distance", language)
    return


@app.cell
def _(kept, language):
    rule, factor, trained, stretched_width, stretched_base = controls.stretching(kept, language).values()
    opening("stretching", language, (rule, factor, trained, stretched_width, stretched_base))
    return factor, rule, stretched_base, stretched_width, trained


@app.cell
def _(factor, language, rule, stretched_base, stretched_width, trained):
    mo.Html(
        figures.wavelengths(
            rule=rule.value,
            factor=factor.value,
            trained=trained.value,
            head_width=stretched_width.value,
            base=stretched_base.value,
            language=language,
        )
    )
    return


@app.cell
def _(language):
    claims("stretching", language)
    return


@app.cell
def _(comparison, comparison_path, kept, language):
    task = controls.task(kept, comparison.settings.length_tasks, language)
    opening("beyond", language, [] if task is None else [task], results.whose(comparison, comparison_path, language=language))
    return (task,)


@app.cell
def _(comparison, language, task):
    mo.Html(curves.curves(comparison, task=task.value, language=language)) if task is not None else mo.md(
        TEXTS["results_none"].said(language)
    )
    return


@app.cell
def _(language):
    claims("beyond", language)
    return


@app.cell
def _(kept, language):
    first, second, third = controls.words(kept, language).values()
    opening("words", language, (first, second, third))
    return first, second, third


@app.cell
def _(first, kept, language, second, third):
    typed = [first.value, second.value, third.value]
    order = controls.order(kept, typed, language)
    mo.Html(controls.row([order]))
    return order, typed


@app.cell
def _(language, order, typed):
    mo.Html(words.shuffled(typed, order.value, language=language))
    return


@app.cell
def _(language):
    claims("words", language)
    return


@app.cell
def _(language):
    titles = "\n".join(f"- «{title.ru}»" if language == "ru" else f"- «{title.ru}»: {title.en}" for title in TITLES.values())
    mo.md(f"## {TEXTS['notes'].said(language)}\n\n{TEXTS['notes_say'].said(language)}\n\n{titles}")
    return


if __name__ == "__main__":
    app.run()
