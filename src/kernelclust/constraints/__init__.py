"""Side information: known labels, links between samples, sizes of clusters; checked, and labelings that respect it."""

from kernelclust.constraints._constraints import Constraints
from kernelclust.constraints._label_evidence import contradicted, label_evidence, numbered, size_penalty
from kernelclust.constraints._repair import repair
from kernelclust.constraints._repair_loops import count_blocked
from kernelclust.constraints._side_information import different_rows, draw, equal_rows, make_constraints
from kernelclust.constraints._validation import check_labels

__all__ = [
    "Constraints",
    "check_labels",
    "contradicted",
    "count_blocked",
    "different_rows",
    "draw",
    "equal_rows",
    "label_evidence",
    "make_constraints",
    "numbered",
    "repair",
    "size_penalty",
]
