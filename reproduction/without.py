"""Tables and figures that have no script, and why."""

DRAWN = "no experiment"
GONE = "not available"

WITHOUT = {
    "000-figure-1": (DRAWN, "Mistakes of CLUHSIC go to clusters far away", "a sketch; 000-figure-5 measures it"),
    "000-figure-2": (DRAWN, "A chain, a ring and a tree", "a drawing; kernelclust.plots.StructureDisplay draws them"),
    "000-figure-3": (DRAWN, "The hierarchies of the data", "a drawing of trees"),
    "001-table-1": (DRAWN, "The table of two labelings", "a definition"),
    "001-table-2": (
        DRAWN,
        "Sizes of the data",
        "printed sizes; ionosphere is a copy of the row above it, 351 x 34 is right",
    ),
    "003-figure-1": (DRAWN, "A chain, a ring and a tree", "a drawing"),
    "003-figure-2": (DRAWN, "Pictures of the data", "pictures of data that are not available"),
    "003-figure-5": (DRAWN, "Where proteins are sorted to", "drawings of two trees"),
    "004-table-1": (DRAWN, "Sizes of the data", "printed sizes"),
    "004-figure-1": (GONE, "Flower102 by the number of classes", "its four kernels are not available"),
    "004-figure-2": (GONE, "Caltech102 by the number of classes", "its 25 kernels are not available"),
}
