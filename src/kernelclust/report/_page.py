"""The page itself: sections of words, tables and pictures, as one HTML file that loads nothing."""

from __future__ import annotations

import io
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from string import Template
from typing import Any

PAGE = Template("""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>$title</title><style>
:root { --ink: #262b33; --soft: #5d6571; --faint: #aab1bc; --line: #e1e4e9; --paper: #ffffff; --card: #f6f7f9;
  --warn: #fff3d1; --accent: #1f6f85 }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7ec; --soft: #a2abb8; --faint: #6d7683; --line: #363c46;
  --paper: #16191e; --card: #1f242b; --warn: #453a17; --accent: #6cc3da }
  figure svg image { filter: drop-shadow(0 0 1px var(--ink)) } }
* { box-sizing: border-box }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 72rem;
  margin: 0 auto; padding: 1.5rem 1rem 4rem; overflow-wrap: anywhere }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 1.2rem } h2 { font-size: 1.2rem; margin: 2.6rem 0 .7rem }
p { margin: .5rem 0; max-width: 46rem } a { color: var(--accent) }
.lead { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 1rem 2.5rem; align-items: center }
.lead .verdict p:first-child { font-size: 1.25rem; line-height: 1.4 }
.next { margin: .4rem 0; padding-left: 1.2rem } .next li { margin: .3rem 0 }
figure { margin: 0 0 1rem; min-width: 0 } figure svg { fill: currentColor;
  width: 100%; height: auto; max-height: 34rem; display: block }
figcaption, .soft { color: var(--soft); font-size: .9rem }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1.5rem }
.wide { overflow-x: auto; max-width: 100% }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .35rem 1rem .35rem 0; vertical-align: top; border-bottom: 1px solid var(--line) }
th { font-weight: 600 } thead th { white-space: nowrap } td { max-width: 26rem; overflow-wrap: break-word }
th button { font: inherit; font-weight: 600; color: inherit; background: none; border: 0; padding: 0; cursor: pointer }
th button::after { content: " \\2195"; color: var(--faint) }
th[aria-sort=ascending] button::after { content: " \\2191" }
th[aria-sort=descending] button::after { content: " \\2193" }
.heat td { padding: .25rem .6rem; text-align: right; border: 2px solid var(--paper) } .heat th { padding: .25rem .6rem }
.heat th[scope=col] { text-align: right }
.swatch { display: inline-block; width: .85em; height: .85em; border-radius: 50%; margin-right: .45em;
  box-shadow: 0 0 0 1px var(--faint) }
.thumbnails { display: flex; flex-wrap: wrap; gap: .5rem; font-size: .75rem; color: var(--soft) }
.thumbnails span { max-width: 5.5rem; overflow-wrap: anywhere }
.thumbnails img { width: 5rem; height: auto; image-rendering: auto; display: inline-block; border-radius: 3px }
.warning { background: var(--warn); padding: .6rem 1rem; border-radius: 6px; max-width: none }
pre { background: var(--card); padding: .8rem 1rem; border-radius: 6px; font-size: .88rem; white-space: pre-wrap }
pre span { white-space: nowrap }
summary { cursor: pointer; font-size: 1.2rem; font-weight: 700; margin-top: 2.6rem }
@media (max-width: 700px) { .lead { grid-template-columns: minmax(0, 1fr) }
  .cards thead { display: none } .cards, .cards tbody, .cards tr, .cards td { display: block; max-width: none }
  .cards tr { border-bottom: 1px solid var(--line); padding: .5rem 0 } .cards td { border: 0; padding: .1rem 0 }
  .cards td:not(:first-child)::before { content: attr(data-label) ": "; color: var(--soft) }
  .cards td:first-child { font-weight: 600 } .heat { font-size: .85rem }
  .heat tr { display: grid; grid-template-columns: repeat(var(--clusters), minmax(3.6rem, 1fr)) }
  .heat tr > td:first-child:empty { display: none } .heat td, .heat th { padding: .2rem .3rem }
  .heat th[scope=row] { grid-column: 1 / -1; border: 0; padding-top: .6rem } }
@media print { body { max-width: none; padding: 0 } figure, tr { break-inside: avoid } details > * { display: block } }
</style></head><body><main>
$body
</main>$script</body></html>
""")
SCRIPT = """<script>
for (const button of document.querySelectorAll("th button")) button.addEventListener("click", () => {
  const head = button.closest("th"), body = head.closest("table").tBodies[0], at = head.cellIndex
  const up = head.getAttribute("aria-sort") !== "ascending"
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort")
  head.setAttribute("aria-sort", up ? "ascending" : "descending")
  const key = row => { const text = row.cells[at].dataset.key ?? row.cells[at].textContent
    const number = parseFloat(text); return isNaN(number) ? text : number }
  const rows = [...body.rows].sort((a, b) => { const x = key(a), y = key(b)
    return (typeof x == typeof y ? (x < y ? -1 : x > y ? 1 : 0) : typeof x == "number" ? -1 : 1) * (up ? 1 : -1) })
  body.append(...rows)
})
</script>"""
INKS = {  # what pictures are drawn in, and what the page has in its place
    "#30343b": "currentColor",
    "#000000": "currentColor",
    "#b9bec7": "var(--faint)",
    "#ffffff": "var(--paper)",
}
OPTION = re.compile(r"(?<=\s)(--?[a-z][\w-]*)")  # of a command line


class Markup(str):
    """A piece of HTML that is put into a page as it is."""


@dataclass
class Section:
    """A heading with what stands under it: pieces of HTML, made by the functions below."""

    heading: str
    content: list[str] = field(default_factory=list)
    folded: bool = False


def page(title: str, sections: Iterable[Section], lead: str = "") -> str:
    """Return one self-contained HTML page. Sections without content are left out.

    >>> text = page("My clusters", [Section("what was run", [facts({"rows": 350})])])
    >>> "<th scope=row>rows</th><td>350</td>" in text
    True
    """
    body = [f"<h1>{escape(title)}</h1>", lead]
    for section in sections:
        inside = "\n".join(filter(None, section.content))
        if not inside:
            continue
        if section.folded:
            body.append(f"<details><summary>{escape(section.heading)}</summary>{inside}</details>")
        else:
            body.append(f"<section><h2>{escape(section.heading)}</h2>{inside}</section>")
    text = "\n".join(body)
    return PAGE.substitute(title=escape(title), body=text, script=SCRIPT if "<th><button" in text else "")


def paragraphs(*texts: str, kind: str = "") -> str:
    style = f" class={kind}" if kind else ""
    return "".join(f"<p{style}>{escape(text)}</p>" for text in texts if text)


def bullets(texts: Sequence[str]) -> str:
    return "<ul class=next>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>" if texts else ""


def code(text: str) -> str:
    """Return lines of code; a long line is not broken within the name of an option."""
    return "<pre><code>" + OPTION.sub(r"<span>\1</span>", escape(text)) + "</code></pre>"


def facts(values: Mapping[str, Any]) -> str:
    """Return a table of two columns."""
    rows = (f"<tr><th scope=row>{escape(k)}</th><td>{_cell(v)}</td></tr>" for k, v in values.items())
    return f"<div class=wide><table>{''.join(rows)}</table></div>" if values else ""


def table(rows: Sequence[Mapping[str, Any]], swatches: Sequence[str] = ()) -> str:
    """Return a table that can be sorted by any column, with a colour in front of each row if given."""
    if not rows:
        return ""
    head = "".join(f"<th><button>{escape(name)}</button></th>" for name in rows[0])
    body = []
    for k, row in enumerate(rows):
        dot = f'<span class=swatch style="background:{swatches[k]}"></span>' if len(swatches) else ""
        cells = [f"{dot if i == 0 else ''}{_cell(value)}" for i, value in enumerate(row.values())]
        labels = [f' data-label="{escape(name)}"' for name in row]
        body.append("<tr>" + "".join(f"<td{a}>{cell}</td>" for a, cell in zip(labels, cells, strict=True)) + "</tr>")
    return (
        f"<div class=wide><table class=cards><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def heat(rows: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[str]], scores: Any, says: str) -> str:
    """Return a table of texts, coloured by scores: blue above zero, orange below; `says` formats a score."""
    head = "<tr><td></td>" + "".join(f"<th scope=col>{escape(name)}</th>" for name in columns) + "</tr>"
    body = []
    for name, line, tint in zip(rows, values, scores, strict=True):
        cells = []
        for value, score in zip(line, tint, strict=True):
            if score != score:  # nan: an empty cluster, or a column that is neither above nor below
                cells.append(f"<td>{escape(value)}</td>")
                continue
            color = "33,113,181" if score > 0 else "217,95,2"
            strength = min(abs(score) / 2, 1) * 0.75
            style = f'style="background:rgba({color},{strength:.2f})" title="{escape(says.format(score))}"'
            cells.append(f"<td {style}>{escape(value)}</td>")
        body.append(f"<tr><th scope=row>{escape(name)}</th>{''.join(cells)}</tr>")
    return f'<div class=wide><table class=heat style="--clusters:{len(columns)}">{head}{"".join(body)}</table></div>'


def _cell(value: Any) -> str:
    return value if isinstance(value, Markup) else escape(shown(value))


def thumbnails(images: Sequence[Any], captions: Sequence[str]) -> Markup:
    """Return small pictures beside each other, each with its caption; images are (h, w), (h, w, 3) or (h, w, 4)."""
    from matplotlib.image import imsave

    shapes = []
    for image, caption in zip(images, captions, strict=True):
        png = io.BytesIO()
        imsave(png, image, cmap="gray", format="png")
        data = b64encode(png.getvalue()).decode()
        text = escape(caption)
        shapes.append(f'<span><img src="data:image/png;base64,{data}" alt="{text}" title="{text}"><br>{text}</span>')
    return Markup(f"<div class=thumbnails>{''.join(shapes)}</div>")


def shown(value: Any) -> str:
    return f"{float(value):.4g}" if isinstance(value, float) else str(value)


def picture(figure: Any, caption: str, alt: str) -> str:
    """Return a matplotlib figure as SVG, in the page's colours."""
    import matplotlib

    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": caption, "svg.fonttype": "path"}):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None}, dpi=150)
    svg = text.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    for ink, own in INKS.items():
        svg = svg.replace(ink, own)
    svg = re.sub(
        r'<svg [^>]*?viewBox="([^"]*)"[^>]*>', rf'<svg viewBox="\1" role="img" aria-label="{_attribute(alt)}">', svg
    )
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def _attribute(text: str) -> str:
    return escape(text).replace("\\", "\\\\")
