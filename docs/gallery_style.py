"""How gallery examples look, and their order; sphinx-gallery finds both by name (see conf.py)."""

import logging
import warnings

from cycler import cycler

ORDER = [
    "start",
    "turning",
    "months",
    "cells",
    "hours",
    "map",
    "taxonomy",
    "branches",
    "pseudotime",
    "sequences",
    "seriation",
    "text",
    "topics",
    "how_sure",
    "selection",
    "semi_supervised",
    "views",
    "max_margin",
    "pipeline",
]


def in_order(filename: str) -> tuple[int, str]:
    """Sort by the list above; examples that it does not name come last."""
    name = filename.removeprefix("plot_").removesuffix(".py")
    return (ORDER.index(name) if name in ORDER else len(ORDER), name)


def reset(gallery_conf, fname) -> None:
    """Set matplotlib's defaults before every example; lines about progress depend on the machine, so there are none."""
    logging.getLogger("kernelclust").setLevel("WARNING")
    warnings.formatwarning = lambda message, *_: f"warning: {message}\n"  # without the folder that it was built in
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
            "figure.figsize": (8, 4.2),
            "figure.dpi": 110,
            "savefig.dpi": 110,
            "figure.constrained_layout.use": "cells" not in str(fname),  # scanpy lays out its own figures
            "font.size": 10.5,
            "axes.titlesize": 12,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.prop_cycle": cycler(color=["#3b6fb6", "#d1495b", "#2e8b74", "#e0a030", "#7a5195", "#6c757d"]),
            "image.cmap": "viridis",
        }
    )
