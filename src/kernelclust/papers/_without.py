"""Tables and figures that have no script, and why."""

DRAWN = "no experiment"
GONE = "not to be had"
OPEN = "not written yet"

WITHOUT = {
    "000-figure-1": (DRAWN, "Mistakes of CLUHSIC go to clusters far away", "a sketch; 000-figure-5 measures it"),
    "000-figure-2": (DRAWN, "A chain, a ring and a tree", "a drawing; kernelclust.plots.plot_structure draws them"),
    "000-figure-3": (DRAWN, "The hierarchies of the data", "a drawing of trees"),
    "001-table-1": (DRAWN, "The table of two labelings", "a definition"),
    "001-table-2": (
        DRAWN,
        "Sizes of the data",
        "printed sizes; ionosphere is a copy of the row above it, 351 x 34 is right",
    ),
    "003-figure-1": (DRAWN, "A chain, a ring and a tree", "a drawing"),
    "003-figure-2": (DRAWN, "Pictures of the data", "pictures of data that are not to be had"),
    "003-figure-5": (DRAWN, "Where proteins are sorted to", "drawings of two trees"),
    "000-figure-4": (
        OPEN,
        "A dendrogram of the faces",
        "the pictures are not to be had; 000-table-3 has its accuracies",
    ),
    "000-figure-5": (OPEN, "Confusion matrices on SCOP", "a stand-in is at hand, see 000-table-1"),
    "000-figure-6": (OPEN, "Where the samples of one cluster go", "a stand-in is at hand, see 000-table-1"),
    "000-figure-7": (OPEN, "Clusters of the whole teapot set", "a stand-in is at hand, see 000-table-4"),
    "001-table-3": (OPEN, "NMI", "to come"),
    "001-table-4": (OPEN, "Rand index", "to come"),
    "001-table-5": (OPEN, "F measure", "to come"),
    "001-figure-1": (OPEN, "CPU time", "to come"),
    "002-figure-3": (OPEN, "Faces in their hierarchy", "to come"),
    "002-figure-4": (OPEN, "Teapots on a ring", "to come"),
    "003-figure-3": (OPEN, "Accuracy by the rank of the SDP", "to come"),
    "003-figure-4": (OPEN, "Time by the rank of the SDP", "to come"),
    "003-figure-6": (OPEN, "Protein localisation with some labels", "to come"),
    "003-figure-7": (OPEN, "Recall of every location", "to come"),
    "003-table-1": (OPEN, "Clustering performance", "to come"),
    "004-figure-3": (OPEN, "NMI by lambda", "to come"),
    "004-figure-4": (OPEN, "The objective by iterations", "to come"),
    "004-table-2": (OPEN, "ACC", "to come"),
    "004-table-3": (OPEN, "NMI", "to come"),
    "004-table-1": (DRAWN, "Sizes of the data", "printed sizes"),
    "004-figure-1": (GONE, "Flower102 by the number of classes", "its four kernels are not to be had"),
    "004-figure-2": (GONE, "Caltech102 by the number of classes", "its 25 kernels are not to be had"),
}
