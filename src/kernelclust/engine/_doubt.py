"""What is said about an order."""

from __future__ import annotations

from kernelclust.engine._order import FEW, JITTERS, KEPT, Order

UNSURE = 0.5  # confidence below which there is a warning
LOOSE = 0.8  # correlation of distances with steps
NOISE = 0.2  # p-value from which noise is named


def doubt_in_words(order: Order, structure: str) -> str:
    """The warning that an order deserves; empty for none."""
    if not order.confidence < UNSURE:
        return ""
    said = f"the order of these clusters on '{structure}' is uncertain"
    if order.arrangements <= FEW:
        return f"{said}: only {order.arrangements:.0f} arrangements exist, and data can hardly show which is right."
    noise = f" Noise is arranged as well (p = {order.pvalue:.2g})." if order.pvalue >= NOISE else ""
    if not order.connected:
        share = f"of {JITTERS} slight changes of the distances between them {JITTERS * order.jitter:.0f} keep it"
        return f"{said}: {share}.{noise} The clusters may be right."
    return (
        f"{said} (confidence {order.confidence:.2f}): distances between them follow it "
        f"{'loosely' if order.fit < LOOSE else 'well'} (correlation {order.fit:.2f}), and halves of the samples "
        f"{'agree with it' if order.halves >= KEPT else 'give others'} (agreement {order.halves:.2f}).{noise} "
        "The clusters may be right."
    )
