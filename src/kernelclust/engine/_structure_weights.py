"""Weights of the softmax over structures, of the scores of links, and of the probability that an order is right.

They were fitted once to simulated data and are frozen (`benchmarks/structure_evidence.py`, the first 12 500 draws of
`draw --first 11` that were finished). No real data set was used to fit them; one kind of draw, links that wind through
many dimensions, was added after a real lineage had been scored. The draws are flat clusters, clouds, chains, rings,
trees, grids and hierarchies of about 60 kinds, of 4 to 12 clusters and 25 to 2000 samples, with clusters found by the
library on a structure that was asked for, found without one, or true ones, under the default kernel and "rbf", compared
as a fit compares them. LINK_WEIGHTS maximise the conditional likelihood of the true tree among all spanning trees.
WEIGHTS are a logistic regression (C = 0.1) on the standardised numbers, clipped at 3. CONFIDENCE are logistic
regressions, one for each family, of whether all clusters were strictly in their true order.
"""

# of the features of a pair of clusters, as `_structures.pairs_of` lists them: where clusters are separate, and where
# they touch. One set for both has a log likelihood of -1.302 instead of -1.222 (556 draws that were left out).
LINK_WEIGHTS = (
    (-2.7826, 2.4663, -1.6854, 2.6912, -0.379, 0.3774, -3.4181),
    (-1.369, 0.5107, -0.6748, 0.0952, 0.879, 0.469, -1.4231),
)

FAMILIES = ("flat", "chain", "ring", "tree", "grid", "hierarchy")
CLIP = 3.0

# of atanh T, J, logit P(family), log c and a constant, for each family that has an order
CONFIDENCE = {
    "chain": (0.49902, 0.86238, 0.83481, -1.5262, 0.76874),
    "ring": (1.14, 1.0668, 0.88023, -0.90223, 0.021627),
    "tree": (2.1276, 2.8474, 0.36619, -1.479, -2.4386),
    "grid": (5.0473, -1.1828, 0.52018, -3.403, 0.94345),
}

# mean and standard deviation of each number in the training draws, and its weight for each family
WEIGHTS = {
    "chain_among_trees": (-2.6802, 3.0222, -0.4704, 0.4627, 0.62764, -0.40087, 0.30182, -0.52089),
    "chain_among_trees_per_cluster": (-0.30531, 0.32998, 0.025998, 0.27937, 0.035682, -0.45823, 0.14047, -0.023297),
    "chain_share_of_trees": (0.36794, 0.39249, 0.10294, 0.56961, 0.36504, -0.6786, -0.1509, -0.20808),
    "ring_evidence_per_cluster": (3.2107, 2.4326, 0.15145, -0.1943, 0.96871, -0.28208, 0.0017197, -0.6455),
    "tree_evidence_per_cluster_times_touch": (1.8653, 1.6466, -0.84773, 0.63242, 0.55758, 0.24886, 0.098824, -0.68995),
    "tree_certainty": (-2.0835, 2.3997, -0.6061, -0.03337, 0.50042, 0.61696, -0.17191, -0.306),
    "chain_step_fit_squared": (0.91514, 1.0834, -0.079354, 0.41507, -0.21627, -0.16792, -0.18235, 0.23082),
    "ring_step_fit_squared": (0.51799, 0.60272, 0.35763, -0.31562, 0.78224, -0.26621, 0.41128, -0.96931),
    "ring_step_fit_times_touch": (0.40311, 0.33632, 0.46777, -0.17735, -0.36577, 0.26268, -0.34562, 0.15829),
    "ring_step_fit_times_hole": (0.48553, 0.31633, -0.46142, 0.6085, -0.13625, -0.12912, -0.47106, 0.58934),
    "tree_step_fit": (0.94875, 0.45242, -0.26069, 0.071897, -0.48076, 0.39414, -0.18201, 0.45742),
    "hierarchy_fit": (1.1654, 0.43155, -0.34907, -0.18606, -0.28357, 0.15452, -0.071747, 0.73592),
    "ring_length_fit": (0.97854, 0.53495, -0.029915, 0.50935, -0.18082, -0.097805, -0.036002, -0.1648),
    "tree_length_fit": (1.098, 0.52111, 0.041952, -0.008546, -0.036618, 0.46419, -0.13619, -0.32478),
    "distance_spread": (0.28086, 0.14387, 0.26969, 0.12394, 0.20313, -0.3635, 0.21278, -0.44604),
    "relative_distance": (0.87519, 0.52895, 0.50293, -0.67872, -0.17045, -0.011331, -0.53821, 0.89578),
    "link_gap": (0.66977, 0.72811, 0.59992, -0.14006, -0.29663, -0.13235, -0.53445, 0.50356),
    "link_elongation": (0.062464, 0.71249, -0.31801, 0.15435, 0.37742, 0.032995, 0.22931, -0.47607),
    "other_elongation": (-0.50917, 0.63562, 0.15145, -0.22106, -0.32013, 0.18304, -0.099098, 0.3058),
    "detour_by_samples": (0.21362, 0.27671, -0.62952, 0.10994, 0.55746, 0.2666, -0.093801, -0.21068),
    "weakest_ring_link": (-6.0523, 4.7125, -0.06088, -0.4777, 1.3193, -1.0698, 0.58956, -0.30056),
    "log_n_clusters": (2.0344, 0.34343, -0.64017, 0.999, 0.10529, -0.079578, -0.015963, -0.36858),
    "merge_jump_at": (0.41788, 0.22978, 0.11206, 0.22074, 0.07566, 0.20497, -0.044121, -0.56931),
    "merge_silhouette": (0.21328, 0.15257, -0.28795, -0.33192, 0.048106, -0.25793, -0.0004656, 0.83016),
    "chain_contrast": (1.9598, 0.96542, -0.40665, 0.56726, -0.054221, -0.070171, -0.32922, 0.293),
    "ring_contrast": (1.4392, 0.78294, -0.1203, -0.56959, 0.064992, 0.24214, -0.081907, 0.46467),
    "ring_gap": (-0.47554, 0.41002, 0.135, -0.37537, 0.32915, -0.16064, -0.14216, 0.21402),
    "tree_contrast": (2.1771, 0.92851, -0.1611, 0.074049, 0.45413, 0.05033, -0.3917, -0.025708),
    "tree_gap": (-0.16691, 0.30409, 0.015858, 0.28753, -0.35031, 0.58622, 0.062694, -0.60199),
    "grid_contrast": (0.83041, 0.81213, 0.12957, -0.45858, -0.14694, -0.34836, 0.95457, -0.13026),
    "grid_gap": (-0.30243, 0.37699, -0.082532, -0.12706, -0.34213, -0.030648, 0.45983, 0.12254),
    "grid_evidence_per_cluster": (2.1591, 2.6326, -0.37321, 0.026402, -0.36635, -0.049061, 0.70393, 0.058284),
    "grid_step_fit": (0.47076, 0.45427, -0.40826, -0.25979, -0.31261, -0.1385, 1.3581, -0.23891),
}
INTERCEPTS = (1.5023, 0.55812, 0.11402, 0.09537, -2.31526, 0.04544)
