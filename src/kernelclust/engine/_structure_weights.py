"""Weights of the softmax over structures, of the scores of links, and of the probability that an order is right.

They were fitted once to simulated data and are frozen (`benchmarks/structure_evidence.py`, `draw --first 28 --draws
7500`). No real data set was used to fit them; three kinds of draws were added after real data had been scored: links
that wind through many dimensions and genes that are large at one place of a lineage (single cells), and views of
turning bodies (pictures). The draws are flat clusters, clouds, chains, rings, trees, grids and hierarchies of about 70
kinds, of 4 to 12 clusters and 25 to 2000 samples, with clusters found by the library on a structure that was asked for,
found without one, or true ones, under the default kernel and "rbf". A fit then compared the clusters that it ended
with, now those before any structure: weights fitted to 3000 such draws gained at most 0.005 of log likelihood, and
claimed an order more often where there is none (11 instead of 9 %). LINK_WEIGHTS maximise the conditional likelihood
of the true tree among all spanning trees. WEIGHTS are a logistic regression (C = 0.1) on the standardised numbers,
clipped at 3, draws weighted such that half of them have no order. CONFIDENCE are logistic regressions, one for each
family, of whether all clusters were strictly in their true order.
"""

# of the features of a pair of clusters, as `_structures.pairs_of` lists them: where clusters are separate, and where
# they touch. One set for both had a log likelihood of -1.302 instead of -1.222 (556 draws that were left out).
LINK_WEIGHTS = (
    (-1.9863, 2.4575, -0.7513, 2.2818, -0.5732, 0.6069, -3.6322),
    (-0.1615, 0.3652, -0.3237, 1.0813, 0.7793, 0.7408, -2.0716),
)

FAMILIES = ("flat", "chain", "ring", "tree", "grid", "hierarchy")
CLIP = 3.0

# of atanh T, J, logit P(family), log c and a constant, for each family that has an order
CONFIDENCE = {
    "chain": (0.50029, 1.0609, 0.8332, -0.98186, -0.25771),
    "ring": (0.71554, 1.9663, 0.592, -0.34322, -1.4423),
    "tree": (2.4575, 2.8578, 0.44561, -1.8424, -2.1017),
    "grid": (3.9612, -0.53449, 0.65907, -3.6323, 2.4517),
}

# b of p^(1 - b) q^b, p the probabilities of families by the default kernel's clusters and q by rbf clusters: largest
# likelihood of 2351 draws that no weight was fitted to (0.25 the same, 0.2 and 0.35 0.001 less)
SECOND_SHARE = 0.3

# mean and standard deviation of each number in the training draws, and its weight for each family
WEIGHTS = {
    "chain_among_trees": (-2.4825, 2.8206, -0.47286, 0.33597, 0.50889, -0.29396, 0.19742, -0.27546),
    "chain_among_trees_per_cluster": (-0.28352, 0.3122, 0.0020026, 0.25281, 0.027071, -0.31583, -0.029024, 0.062972),
    "chain_share_of_trees": (0.38352, 0.3969, 0.086871, 0.65495, 0.31375, -0.79034, -0.14507, -0.12016),
    "ring_evidence_per_cluster": (3.2435, 2.3968, -0.032306, 0.13243, 0.44019, -0.0073103, -0.15691, -0.37609),
    "tree_evidence_per_cluster_times_touch": (1.9718, 1.797, -0.5825, 0.33044, 0.39997, 0.3731, -0.14298, -0.37803),
    "tree_certainty": (-2.1179, 2.5182, -0.69912, 0.013632, 0.42633, 0.88688, -0.13329, -0.49443),
    "chain_step_fit_squared": (0.89288, 1.0844, -0.038144, 0.4295, -0.053976, -0.059793, -0.29084, 0.013251),
    "ring_step_fit_squared": (0.50355, 0.55367, -0.094973, -0.31719, 0.61532, -0.18337, 0.17342, -0.19321),
    "ring_step_fit_times_touch": (0.40039, 0.33019, 0.29378, 0.17457, -0.34305, 0.072082, -0.31263, 0.11524),
    "tree_step_fit": (0.92383, 0.45948, -0.14852, -0.056442, -0.34401, 0.32803, -0.06687, 0.28782),
    "hierarchy_fit": (1.1655, 0.42984, -0.26173, -0.083271, -0.24731, 0.090684, -0.090081, 0.59171),
    "ring_length_fit": (0.97431, 0.53794, -0.094316, 0.58421, -0.36569, -0.060639, -0.05741, -0.0061597),
    "distance_spread": (0.27826, 0.14314, 0.57395, 0.49012, 0.049807, -0.57793, 0.57329, -1.1092),
    "even_distances": (0.13133, 0.15534, -0.058572, 0.55659, -0.45525, -0.033908, 0.53305, -0.54191),
    "relative_distance": (0.86651, 0.52661, 0.59492, -0.76415, -0.0017935, -0.22278, -0.085509, 0.47931),
    "log_relative_distance": (-0.19404, 0.59396, -0.51467, -0.32699, 0.043813, 0.24088, -0.19784, 0.75481),
    "link_gap": (0.67015, 0.714, 0.51348, -0.14121, -0.17268, -0.25441, -0.38825, 0.44307),
    "link_elongation": (0.077169, 0.7098, -0.23867, 0.2352, 0.25525, 0.17655, 0.047484, -0.47582),
    "other_elongation": (-0.53054, 0.64924, 0.077561, -0.25663, -0.35493, 0.10964, 0.057775, 0.36659),
    "detour_by_samples": (0.21767, 0.27499, -0.73399, -0.10666, 0.92302, 0.27214, -0.15276, -0.20175),
    "weakest_ring_link": (-5.913, 4.5952, 0.033128, -0.27921, 0.98648, -0.61907, 0.45636, -0.57769),
    "log_n_clusters": (2.0342, 0.34363, -0.61027, 0.79155, 0.3073, -0.0083331, -0.056076, -0.42416),
    "merge_jump_at": (0.42123, 0.23095, 0.14647, 0.22119, -0.038475, 0.032401, -0.07678, -0.2848),
    "merge_silhouette": (0.21414, 0.15219, -0.28856, -0.34519, 0.053287, 0.086026, -0.046372, 0.54081),
    "longest_loop": (0.17253, 0.15839, -0.18812, -0.54846, 1.1483, -0.16811, 0.088983, -0.3326),
    "second_loop": (0.09743, 0.076415, 0.25364, -0.088086, -0.38489, -0.30807, 0.21726, 0.31014),
    "ring_contrast": (1.4314, 0.76588, -0.32597, 0.098557, 0.11693, -0.056546, -0.13891, 0.30593),
    "ring_gap": (-0.46828, 0.4014, 0.34057, -0.54556, 0.20167, -0.18793, -0.2262, 0.41746),
    "tree_contrast": (2.1469, 0.92829, -0.18488, 0.60284, 0.26601, -0.024086, -0.21079, -0.4491),
    "tree_gap": (-0.17352, 0.30755, -0.056638, 0.33579, -0.33137, 0.51508, 0.03111, -0.49397),
    "grid_contrast": (0.81768, 0.80959, -0.094355, -0.22888, -0.27127, -0.35559, 1.0024, -0.052318),
    "grid_gap": (-0.29695, 0.37412, -0.036172, -0.1206, -0.11599, -0.13913, 0.35385, 0.058047),
    "grid_evidence_per_cluster": (2.1414, 2.6044, -0.052687, -0.22721, -0.17918, -0.077664, 0.44348, 0.093258),
    "grid_step_fit": (0.45866, 0.44845, -0.26191, -0.22613, -0.12983, -0.20181, 1.2061, -0.38645),
}
INTERCEPTS = (1.5772, 0.57969, 0.03444, 0.04127, -2.14552, -0.08708)
