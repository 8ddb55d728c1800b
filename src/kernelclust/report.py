"""One self-contained page about a fit: facts in words, tables, pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from html import escape
from string import Template
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kernelclust._units import unit_warning
from kernelclust.engine import FEW, UNSURE, is_connected, n_arrangements
from kernelclust.structures import cluster_names

PAGE = Template("""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title><style>
body { font: 16px/1.5 system-ui, sans-serif; color: #30343b; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.7rem } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; border-bottom: 1px solid #d8dbe0 }
table { border-collapse: collapse } th, td { text-align: left; padding: .2rem 1.2rem .2rem 0; vertical-align: top }
tr + tr { border-top: 1px solid #eceef1 } th { font-weight: 600 }
figure { display: inline-block; margin: .5rem 1rem .5rem 0; max-width: 100% } figure img { max-width: 100% }
figcaption { color: #6a707b; font-size: .9rem }
.warning { background: #fff4d6; padding: .6rem 1rem; border-radius: 4px }
</style></head><body><h1>$title</h1>
$body
</body></html>
""")


def build_report(facts: Mapping[str, Any], figures: Mapping[str, Any], title: str) -> str:
    """Return one HTML page that needs nothing else; reads nothing, writes nothing.

    Parameters
    ----------
    facts : mapping of headings to content
        A text is a paragraph, a list of texts one each, a mapping a table of two columns, a list of mappings a table
        with their keys as its head. Content under the heading "warnings" stands out.
    figures : mapping of captions to pictures
        A picture has matplotlib's ``savefig``, or is the text of an ``<svg>``.
    title : str
        Heading of the page.

    Examples
    --------
    >>> page = build_report({"what was run": {"samples": 350}}, {}, "My clusters")
    >>> "<th>samples</th><td>350</td>" in page
    True
    """
    body = [f"<h2>{escape(heading)}</h2>{_content(heading, content)}" for heading, content in facts.items() if content]
    if figures:
        drawn = (
            f"<figure>{_picture(p)}<figcaption>{escape(caption)}</figcaption></figure>"
            for caption, p in figures.items()
        )
        body.append("<h2>pictures</h2>" + "".join(drawn))
    return PAGE.substitute(title=escape(title), body="\n".join(body))


def describe_fit(model: Any, X: ArrayLike | None = None, *, neighbours: ArrayLike | None = None) -> dict[str, Any]:
    """Return the facts of a fitted model, for `build_report`.

    Parameters
    ----------
    model : fitted StructuredClustering
        Or any estimator with the same fitted attributes.
    X : array of shape (m, d), optional
        The data; columns on very different scales then give a warning.
    neighbours : bool array of shape (c, c), optional
        Which clusters are neighbours, for the table of clusters.
    """
    structure = model.structure_
    sizes = np.bincount(model.labels_, minlength=structure.n_clusters)
    units = "" if X is None else unit_warning(X, names=getattr(model, "feature_names_in_", None))
    settings = {
        name: value for name, value in model.get_params(deep=False).items() if isinstance(value, str | float | int)
    }
    run = {"structure": str(structure), "samples": len(model.labels_), "sweeps": model.n_iter_}
    if model.gamma_ is not None:
        run["gamma"] = model.gamma_
    if X is not None:
        run["columns"] = np.shape(X)[1]
    names = cluster_names(structure, structure.n_clusters)
    clusters = [
        {"cluster": label, "size": int(size), "share": f"{size / sizes.sum():.1%}"}
        for label, size in zip(names, sizes, strict=True)
    ]
    if neighbours is not None and np.any(neighbours):
        for row, near in zip(clusters, np.asarray(neighbours), strict=True):
            row["neighbours"] = ", ".join(names[np.flatnonzero(near)])
    return {
        "warnings": list(filter(None, [units])),
        "what was run": run,
        "how good is the search": gap_in_words(model.objective_, model.upper_bound_, model.gap_),
        "how sure is the arrangement": list(
            filter(None, [_order(model), margin_in_words(model.placement_margin_), support_in_words(model.support_)])
        ),
        "clusters": clusters,
        "settings": {name: settings[name] for name in sorted(settings) if name not in (*run, "n_clusters", "verbose")},
    }


def gap_in_words(objective: float, upper_bound: float | None, gap: float | None) -> str:
    """Say how far the value found can be from the best.

    Examples
    --------
    >>> print(gap_in_words(9.5, 10.0, 0.05))
    The objective is 9.5. No labeling can exceed 10, so at most 5.0% is missing. This speaks of the search only: ...
    """
    found = f"The objective is {objective:.6g}."
    if upper_bound is None or gap is None or not np.isfinite([upper_bound, gap]).all():
        return f"{found} No upper bound is known for these settings."
    return (
        f"{found} No labeling can exceed {upper_bound:.6g}, so at most {gap:.1%} is missing. "
        "This speaks of the search only: a small gap does not mean that the clusters are the right ones, "
        "and a large gap may be the bound's own."
    )


def order_in_words(structure: Any, confidence: float | None, pvalue: float | None) -> str:
    """Say how sure the order is; nothing where there is one arrangement only, or it was not asked for.

    Examples
    --------
    >>> from kernelclust.structures import as_structure
    >>> order_in_words(as_structure("chain:8"), 0.93, 0.01)
    "The order of the clusters on 'chain:8' is right with a confidence of 93%. Noise would be ..."
    """
    if confidence is None or pvalue is None or np.isnan(confidence):
        return ""
    number = n_arrangements(structure.kernel)
    noise = f"Noise would be arranged as well in {pvalue:.0%} of the cases."
    if not is_connected(structure.kernel):
        sure = "slight changes of the data would hardly change them" if confidence >= UNSURE else "they are uncertain"
        return f"The places of the clusters on '{structure}': {sure}. {noise}"
    few = (
        f" Only {number:.0f} arrangements exist, so that data can hardly show which is right." if number <= FEW else ""
    )
    return f"The order of the clusters on '{structure}' is right with a confidence of {confidence:.0%}. {noise}{few}"


def margin_in_words(margin: float | None) -> str:
    """Say how clearly the best arrangement beats the next different one.

    Examples
    --------
    >>> margin_in_words(0.1)
    'The next different arrangement is 0.10 standard deviations of all arrangements behind (placement margin).'
    >>> margin_in_words(None)
    'There is only one arrangement, or its margin is not known.'
    """
    if margin is None or not np.isfinite(margin):
        return "There is only one arrangement, or its margin is not known."
    behind = f"{margin:.2f} standard deviations of all arrangements behind"
    return f"The next different arrangement is {behind} (placement margin)."


def support_in_words(support: float | None) -> str:
    """Say whether other graphs of the same samples give the same arrangement.

    Examples
    --------
    >>> support_in_words(0.6)
    'Other graphs of the same samples agree with the arrangement to 0.60 of 1 (support).'
    >>> support_in_words(None)
    ''
    """
    if support is None:
        return ""
    return f"Other graphs of the same samples agree with the arrangement to {support:.2f} of 1 (support)."


def history_svg(history: Sequence[float], *, width: int = 420, height: int = 160) -> str:
    """Draw the objective after each sweep, without matplotlib.

    Examples
    --------
    >>> history_svg([1.0, 2.0, 2.5])[:4]
    '<svg'
    """
    values = np.asarray(history, dtype=float)
    span = np.ptp(values) or 1.0
    x = 60 + (width - 80) * np.arange(len(values)) / max(len(values) - 1, 1)
    y = height - 30 - (height - 50) * (values - values.min()) / span
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    dots = "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="#2a788e"/>' for a, b in zip(x, y, strict=True))
    return (
        f'<svg width="{width}" height="{height}" role="img" font-size="12" fill="#6a707b">'
        f'<polyline points="{line}" fill="none" stroke="#2a788e" stroke-width="2"/>{dots}'
        f'<text x="52" y="{y[-1] + 4:.1f}" text-anchor="end">{values[-1]:.4g}</text>'
        + (f'<text x="52" y="{y[0] + 4:.1f}" text-anchor="end">{values[0]:.4g}</text>' if y[0] - y[-1] > 14 else "")
        + f'<text x="{width / 2}" y="{height - 8}" text-anchor="middle">sweep 1 to {len(values)}</text></svg>'
    )


def _order(model: Any) -> str:
    confidence, pvalue = (getattr(model, name, None) for name in ("order_confidence_", "order_pvalue_"))
    return order_in_words(model.structure_, confidence, pvalue)


def _content(heading: str, content: Any) -> str:
    if isinstance(content, str):
        content = [content]
    if isinstance(content, Mapping):
        return _table([[(key, "th"), (_shown(value), "td")] for key, value in content.items()])
    if isinstance(content[0], Mapping):
        head = [(key, "th") for key in content[0]]
        return _table([head, *([(_shown(value), "td") for value in row.values()] for row in content)])
    style = ' class="warning"' if heading == "warnings" else ""
    return "".join(f"<p{style}>{escape(text)}</p>" for text in content)


def _table(rows: Sequence[Sequence[tuple[str, str]]]) -> str:
    cells = ("".join(f"<{tag}>{escape(text)}</{tag}>" for text, tag in row) for row in rows)
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _picture(picture: Any) -> str:
    if isinstance(picture, str):
        return picture
    png = io.BytesIO()
    picture.savefig(png, format="png", dpi=110)
    return f'<img alt="" src="data:image/png;base64,{base64.b64encode(png.getvalue()).decode()}">'
