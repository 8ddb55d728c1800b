"""Cluster rotated pictures of a photograph on a ring; the data are included."""

from __future__ import annotations

import io
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kernelclust.cli import options

OUT = options.Option(str, "folder", "kernelclust-demo", "-o", metavar="DIR")
OPTIONS = {**options.in_panel(options.WRITE, out=OUT), **options.TALK}
TASK = (
    "One photograph was rotated full circle: 10 groups of 35 pictures, with gaps between them, then shuffled. "
    "KMeans finds the groups but numbers them arbitrarily. On the ring, the numbers follow the rotation."
)


def run(arguments: SimpleNamespace) -> None:
    """Cluster with and without the ring, print the scores, write report, picture and labels."""
    import numpy as np
    from sklearn.cluster import KMeans

    from kernelclust import StructuredClustering
    from kernelclust._files import write_files
    from kernelclust.cli.outputs import labels_csv
    from kernelclust.datasets import rotated_images
    from kernelclust.plots import have_matplotlib
    from kernelclust.report import gap_in_words, html_report, order_in_words

    folder = Path(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)
    turned = rotated_images(random_state=0)
    print(
        f"{len(turned.data)} pictures of one photograph, rotated step by step and shuffled, in 10 groups around a "
        "circle"
    )

    plain = KMeans(10, n_init=10, random_state=0).fit(turned.data)
    started = time.perf_counter()
    model = StructuredClustering(structure=turned.structure, random_state=0).fit(turned.data)
    seconds = time.perf_counter() - started

    scores = [
        _score("KMeans", turned.target, plain.labels_, model.structure_),
        _score("StructuredClustering, ring:10", turned.target, model.labels_, model.structure_),
    ]
    print()
    for first, *rest in [["", *list(scores[0])[1:]], *(row.values() for row in scores)]:
        print(f"  {first:<32}" + "".join(f"{cell:>26}" for cell in rest))
    print()
    print(f"fitted in {seconds:.1f} s (the first fit on a machine includes compilation)")
    print(gap_in_words(model.objective_, model.upper_bound_, model.gap_))
    if model.order_ is not None:
        print(order_in_words(model.structure_, model.order_confidence_, model.order_.pvalue))

    figures: dict[str, Any] = {}
    files: dict[str, str | bytes] = {}
    if have_matplotlib():
        compared = _compare(model, plain.labels_, turned.images)
        figures["Left: KMeans. Right: on the ring. Each cluster is shown by its most typical picture."] = compared
        picture = io.BytesIO()
        compared.savefig(picture, format="png", dpi=110)
        files["ring.png"] = picture.getvalue()
    files["labels.csv"] = labels_csv(model.labels_)
    files["report.html"] = html_report(
        model,
        turned.data,
        title="A rotated photograph, arranged on a ring",
        lead=[TASK],
        scores={f"{row['method']}, {name}": row[name] for row in scores for name in list(row)[1:]},
        again={"Command line": "kernelclust demo"},
        images=np.where(turned.images.max(axis=0) > 0, turned.images, np.nan),
        figures=figures,
    )
    write_files({str(folder / name): content for name, content in files.items()})
    print(f"\nwritten: {', '.join(str(folder / name) for name in sorted(files))}")
    print(f"Open {folder / 'report.html'} in a browser.")


def _score(method: str, truth: Any, labels: Any, structure: Any) -> dict[str, str]:
    from kernelclust.metrics import clustering_accuracy, structured_accuracy

    return {
        "method": method,
        "accuracy": f"{clustering_accuracy(truth, labels):.1%}",
        "structured accuracy": f"{structured_accuracy(truth, labels, structure):.1%}",
    }


def _compare(model: Any, plain: Any, images: Any) -> Any:
    """Draw both labelings on the ring, each cluster with its most typical picture."""
    import numpy as np
    from matplotlib.figure import Figure

    from kernelclust.plots import StructureDisplay

    figure = Figure(figsize=(10, 5), layout="constrained")
    for ax, labels, title in zip(
        figure.subplots(1, 2),
        [plain, model.labels_],
        ["KMeans: numbered arbitrarily", "kernelclust: in order"],
        strict=True,
    ):
        StructureDisplay(model.structure_, np.bincount(labels), thumbnails=_thumbnails(images, labels)).plot(ax)
        ax.set_title(title)
    return figure


def _thumbnails(images: Any, labels: Any) -> list[Any]:
    return [_typical(images[labels == label]) for label in range(labels.max() + 1)]


def _typical(images: Any) -> Any:
    """Return the picture nearest to the mean, with what is always black left blank."""
    import numpy as np

    nearest = np.argmin(((images - images.mean(axis=0)) ** 2).sum(axis=(1, 2)))
    return np.where(images.max(axis=0) > 0, images[nearest], np.nan)
