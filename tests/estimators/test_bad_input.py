"""Every bad input gets one clear error: what is wrong, where, and what to do; and leaves the estimator unfitted."""

import re
import warnings

import networkx as nx
import numpy as np
import pytest
from flat_parameters import build
from parts import APPROXIMATIONS, ESTIMATORS, kernels
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from kernelclust import CLUHSIC, CLUHSICAL, KernelKMeans, StructuredClustering
from kernelclust.kernels import RBF, Laplacian, Precomputed
from kernelclust.objectives import Dependence
from kernelclust.solvers import Greedy
from kernelclust.structures import Custom, Ring

pytestmark = pytest.mark.usefixtures("few_starts")

every_estimator = pytest.mark.parametrize("Estimator", ESTIMATORS)
m = 12
X = np.random.default_rng(0).standard_normal((m, 3))
X.flags.writeable = False
K = rbf_kernel(X)
K.flags.writeable = False


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with threadpool_limits(limits=1):
        yield


def changed(array, index, value):
    array = np.array(array, dtype=float)
    array[index] = value
    return array


def leftovers(model):
    """What fit set, but for the two that scikit-learn's own validation sets first."""
    learned = [name for name in vars(model) if name.endswith("_") or name.startswith("_")]
    return [name for name in learned if name not in ("n_features_in_", "feature_names_in_")]


def refused(model, X, *says, error=ValueError, **fit):
    """Fit, expecting one error that says all of this, no warning beside it, and nothing learned."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((ValueError, TypeError)) as caught:
            model.fit(X, **fit)
    assert isinstance(caught.value, error), repr(caught.value)
    message = str(caught.value)
    for pattern in says:
        assert re.search(pattern, message), f"{pattern!r} is not in: {message}"
    assert len(message) < 700, "one clear message, not a page"
    assert not isinstance(caught.value, np.linalg.LinAlgError), "a message from inside a library"
    assert leftovers(model) == []
    return message


# -- X ----------------------------------------------------------------------------------------------------------------


@every_estimator
@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (changed(X, (3, 1), np.nan), ["NaN"]),
        (changed(X, (3, 1), np.inf), ["infinity"]),
        (changed(X, (3, 1), -np.inf), ["infinity"]),
        (np.empty((0, 3)), ["0 sample"]),
        (np.empty((m, 0)), ["0 feature"]),
        ([], ["array|empty|0 sample"]),
        ([[]], ["0 feature"]),
        (X[:, 0], ["2D", "reshape"]),
        (X[None], ["dim 3"]),
        (X[0, 0], ["2D"]),
        (X.astype(complex), ["[Cc]omplex"]),
        ([["a", "b"]] * m, [r"X\[:, 0\] \(text, such as 'a'\), X\[:, 1\]"]),
        (sparse.csr_matrix(changed(X, (3, 1), np.nan)), ["NaN"]),
    ],
    ids=["nan", "inf", "-inf", "no rows", "no columns", "[]", "[[]]", "1-d", "3-d", "0-d", "complex", "text", "sparse"],
)
def test_samples(Estimator, bad, says):
    refused(Estimator(2), bad, *says, error=(ValueError, TypeError))


def test_ragged_rows():
    refused(KernelKMeans(2), [[1.0, 2.0], [3.0]])


@pytest.mark.parametrize(
    ("model", "needed"),
    [
        (KernelKMeans(13), 13),
        (KernelKMeans(), 8),
        (StructuredClustering(structure="ring:20"), 20),
        (StructuredClustering(structure="grid:4x4"), 16),
        (CLUHSIC(structure="tree:4x4"), 16),
        (CLUHSICAL(13, structure="chain"), 13),
        (KernelKMeans(13, approximation="nystroem"), 13),
        (KernelKMeans(13, kernel="graph"), 13),
    ],
)
def test_fewer_samples_than_clusters(model, needed):
    few = X if needed > m else X[: needed - 1]
    refused(model, few, rf"n_samples={len(few)}\b", rf"{needed}\b", "fewer samples")


def test_fewer_samples_of_positive_weight_than_clusters():
    weight = np.zeros(m)
    weight[:3] = 1
    refused(KernelKMeans(4), X, "n_samples=3", "n_clusters=4", "positive weight", sample_weight=weight)


# -- precomputed kernels ----------------------------------------------------------------------------------------------


def precomputed(**options):
    return build(StructuredClustering, **({"n_clusters": 3, "kernel": "precomputed"} | options))


every_approximation = pytest.mark.parametrize("approximation", [None, "auto", "nystroem", "cholesky"])


@every_approximation
@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (changed(K, (2, 5), 0.9), ["not symmetric", r"K\[2, 5\]|K\[5, 2\]", r"\(K \+ K\.T\) / 2"]),
        (K[:, :7], ["square", r"\(12, 7\)"]),
        (K[:7], ["square", r"\(7, 12\)"]),
        (changed(K, (2, 5), np.nan), ["NaN"]),
        (changed(K, (2, 2), np.inf), ["infinity"]),
        (sparse.csr_matrix(K), ["[Ss]parse", "dense|toarray"]),
        (np.arange(m, dtype=float), ["2D"]),
    ],
    ids=["asymmetric", "wide", "tall", "nan", "inf", "sparse", "1-d"],
)
def test_precomputed_kernels(bad, says, approximation):
    refused(precomputed(approximation=approximation), bad, *says, error=(ValueError, TypeError))


def indefinite(seed=0, size=m):
    Z = np.random.default_rng(seed).standard_normal((size, size))
    return Z + Z.T


DISTANCES = pairwise_distances(X)
NOT_PSD = {
    "distances": DISTANCES,
    "squared distances": DISTANCES**2,
    "minus a kernel": -K,
    "random signs": indefinite(),
    "large numbers": 1e50 * indefinite(),
    "tiny": 1e-30 * DISTANCES,
    "large and indefinite": indefinite(1, 600),
    "large distances": pairwise_distances(np.random.default_rng(1).standard_normal((600, 3))),
}


@pytest.mark.parametrize("name", NOT_PSD)
@pytest.mark.parametrize("structure", ["flat:3", "ring:3"])
def test_indefinite_kernels(name, structure):
    model = precomputed(n_clusters=3, structure=structure)
    guess = ["may be distances"] * ("distances" in name)
    refused(model, NOT_PSD[name], "positive semidefinite", "eigenvalue", "distances", "clip", *guess)


@pytest.mark.parametrize("approximation", ["nystroem", "cholesky"])
@pytest.mark.parametrize("name", ["distances", "minus a kernel", "random signs"])
def test_indefinite_kernels_do_not_hide_behind_an_approximation(name, approximation):
    refused(precomputed(approximation=approximation), NOT_PSD[name], "positive semidefinite")


def test_slightly_indefinite_kernels_are_taken():
    values, vectors = np.linalg.eigh(K)
    values[0] = -0.01 * values[-1]
    almost = (vectors * values) @ vectors.T
    assert np.isfinite(precomputed().fit((almost + almost.T) / 2).objective_)


@every_estimator
def test_random_features_need_samples(Estimator):
    model = Estimator(3, kernel="precomputed", approximation="random_features")
    refused(model, K, "random_features", "precomputed", "nystroem|cholesky")


@pytest.mark.parametrize("kernel", [*kernels(has_frequencies=False, pairwise=False, without=("auto",)), np.dot])
def test_random_features_know_two_kernels(kernel):
    model = KernelKMeans(3, kernel=kernel, approximation="random_features")
    refused(model, X, "random_features", "'rbf' and 'laplacian'", "nystroem")


# -- structures -------------------------------------------------------------------------------------------------------

NOT_PSD_A = [[1, 2], [2, 1]]


@pytest.mark.parametrize(
    ("structure", "says", "error"),
    [
        (NOT_PSD_A, ["positive semi-?definite", "eigenvalue", "diagonal"], ValueError),
        (np.array(NOT_PSD_A), ["positive semi-?definite"], ValueError),
        (-np.eye(3), ["positive semi-?definite"], ValueError),
        ([[1.0, 0.5], [0.2, 1.0]], ["not symmetric", r"\(M \+ M\.T\) / 2"], ValueError),
        (np.ones((2, 3)), ["square", r"\(2, 3\)"], ValueError),
        (np.ones(3), ["square", r"\(3,\)"], ValueError),
        (np.full((2, 2), np.nan), ["NaN"], ValueError),
        (np.array([["a", "b"], ["c", "d"]]), ["matrix of numbers"], TypeError),
        (np.empty((0, 0)), ["square"], ValueError),
        (nx.DiGraph([(0, 1)]), ["directed", "to_undirected"], ValueError),
        (nx.Graph(), ["no nodes"], ValueError),
        (7, ["structure", "'ring:12'", "matrix", "graph"], TypeError),
        (None, ["structure", "'ring:12'", "matrix", "graph"], TypeError),
        (Ring, ["structure", "'ring:12'"], TypeError),
        ("grid", ["needs its shape", "grid:3x4"], ValueError),
        ("ring:", ["cannot be read", "ring:12"], ValueError),
        ("ring:two", ["cannot be read", "ring:12"], ValueError),
        ("ring:0", ["at least 1"], ValueError),
        ("ring:-3", ["cannot be read|at least 1"], ValueError),
        ("ring:2.5", ["cannot be read"], ValueError),
        ("grid:3", ["cannot be read|grid:3x4"], ValueError),
        ("grid:3x", ["cannot be read"], ValueError),
        ("tree:(a,(b,c)", ["structure", "cannot be read at its end"], ValueError),
        ("", ["known: .*'ring'"], ValueError),
        (":5", ["known: .*'ring'"], ValueError),
        ("custom:5", ["matrix"], ValueError),
        ("rign", ["unknown structure 'rign'", "known: .*'chain'.*'ring'", "Did you mean 'ring'"], ValueError),
        ("rign:12", ["unknown structure 'rign'", "Did you mean 'ring'"], ValueError),
        ("Ring:12", ["unknown structure 'Ring'", "Did you mean 'ring'"], ValueError),
        ("flat:2*chian:3", ["unknown structure 'chian'", "Did you mean 'chain'"], ValueError),
    ],
)  # fmt: skip
@pytest.mark.parametrize("Estimator", [StructuredClustering, CLUHSIC, CLUHSICAL])
def test_structures(Estimator, structure, says, error):
    refused(Estimator(structure=structure), X, *says, error=error)


@pytest.mark.parametrize(
    ("n_clusters", "structure", "own"),
    [
        (5, "ring:6", 6),
        (5, "grid:2x3", 6),
        (5, "tree:2x2", 4),
        (5, "flat:2*chain:3", 6),
        (5, Ring(6), 6),
        (5, Custom(np.eye(6)), 6),
        (5, np.eye(6), 6),
        (5, nx.cycle_graph(6), 6),
        (1, "ring:6", 6),
    ],
    ids=str,
)
@pytest.mark.parametrize("Estimator", [StructuredClustering, CLUHSIC, CLUHSICAL])
def test_contradictory_sizes(Estimator, n_clusters, structure, own):
    model = Estimator(n_clusters, structure=structure)
    refused(model, X, rf"{own} clusters", rf"n_clusters={n_clusters}\b", rf"set n_clusters={own}\b")


# -- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "wrong", "nearest", "known"),
    [
        ("kernel", "rfb", "rbf", kernels()),
        ("kernel", "RBF", "rbf", ["rbf"]),
        ("kernel", "poly", "polynomial", ["polynomial"]),
        ("kernel", "precomputd", "precomputed", ["precomputed"]),
        ("loss", "zero_one", "zero-one", ["zero-one", "structure", None]),
        ("loss", "structured", "structure", ["zero-one", "structure"]),
        ("normalize", "L2", "l2", ["l1", "l2", None]),
        ("normalize", "l3", None, ["l1", "l2", None]),
        ("search", "refined", "refine", ["refine", "global"]),
        ("search", "Global", "global", ["refine", "global"]),
        ("placement", "distances", "distance", ["distance", "F"]),
        ("placement", "f", "F", ["distance", "F"]),
        ("solver", "greedi", "greedy", ["greedy"]),
        ("solver", "placement", None, ["greedy"]),
        ("init", "kmeans++", r"k-means\+\+", ["auto", "spectral", "projected", "k-means++", "random"]),
        ("init", "spectrall", "spectral", ["spectral"]),
        ("approximation", "nystrom", "nystroem", [None, "auto", *APPROXIMATIONS]),
        ("approximation", "random-features", "random_features", ["random_features"]),
        ("approximation", "none", None, [None, "auto"]),
        ("n_init", "aut", "auto", ["auto"]),
    ],
)
@pytest.mark.parametrize("structure", ["flat", "chain"])
def test_unknown_names(parameter, wrong, nearest, known, structure):
    model = build(StructuredClustering, 3, structure=structure, **{parameter: wrong})
    suggestion = [] if nearest is None else [rf"Did you mean '({nearest})'\?"]
    listed = [rf"known: .*{re.escape(repr(name))}|{name}" if name is None else re.escape(repr(name)) for name in known]
    refused(model, X, f"unknown {parameter} '{re.escape(wrong)}'", *suggestion, *listed)


@pytest.mark.parametrize("parameter", ["kernel", "search", "placement", "solver", "normalize", "approximation"])
@pytest.mark.parametrize("wrong", [3, 2.5, True, ["rbf"], b"rbf"], ids=repr)
def test_names_of_a_wrong_type(parameter, wrong):
    refused(
        build(StructuredClustering, 3, **{parameter: wrong}),
        X,
        parameter,
        "known|the names",
        error=(ValueError, TypeError),
    )


def test_names_of_a_width():
    refused(KernelKMeans(3, kernel=RBF(gamma="scal")), X, "unknown gamma 'scal'", "Did you mean 'scale'")
    refused(KernelKMeans(3, kernel=RBF(gamma=None)), X, "gamma=None", error=(ValueError, TypeError))


@pytest.mark.parametrize("parameter", ["kernel", "search", "solver", "init", "n_init"])
def test_none_is_no_name(parameter):
    refused(build(StructuredClustering, 3, **{parameter: None}), X, parameter, error=(ValueError, TypeError))


def test_names_are_checked_where_they_do_not_matter():
    """A mistyped option is an error even when this fit would not have asked for it."""
    refused(StructuredClustering(3, objective=Dependence(placement="distanc")), X, "unknown placement")
    refused(StructuredClustering(3, kernel="linear", approximation="nystrom"), X, "unknown approximation")
    refused(StructuredClustering(3, kernel=Laplacian(gamma="scal")), X, "unknown gamma")
    refused(StructuredClustering(3, solver=Greedy(init=np.arange(m) % 3, n_init="aut")), X, "unknown n_init")
    refused(StructuredClustering(3, solver=Greedy(init=np.arange(m) % 3, n_init=0)), X, "n_init=0")


# -- numbers ----------------------------------------------------------------------------------------------------------

NUMBERS = {
    "n_clusters": [0, -1, 2.5, "3", np.nan, True, [3]],
    "gamma": [-1, 0, np.nan, np.inf, -np.inf, [1.0], 1j, b"1"],
    "rho": [-1, -1e-9, np.nan, np.inf, "a", None, [1.0], 1j],
    "tol": [-1, np.nan, np.inf, "a", None, [1e-6]],
    "max_iter": [0, -5, 2.5, "a", None, np.inf, np.nan, [100]],
    "n_init": [0, -1, 2.5, np.nan, True, [3]],
    "n_components": [0, -1, 2.5, "a", np.nan, [3]],
    "verbose": ["loud", [1]],
    "allow_empty": ["no", 2.5],
}


@pytest.mark.parametrize(
    ("parameter", "wrong"), [(name, wrong) for name, values in NUMBERS.items() for wrong in values], ids=repr
)
def test_numbers(parameter, wrong):
    given = {parameter: wrong} | ({"approximation": "nystroem"} if parameter == "n_components" else {})
    given |= {"kernel": "rbf"} if parameter == "gamma" else {}
    model = build(StructuredClustering, **({"n_clusters": 3, "structure": "chain"} | given))
    refused(model, X, parameter, error=(ValueError, TypeError))


@pytest.mark.parametrize("wrong", ["a", -1, 1.5, [1.5]], ids=repr)
def test_seeds(wrong):
    refused(KernelKMeans(3, random_state=wrong), X, "[Ss]eed")


@pytest.mark.parametrize("approximation", ["nystroem", "cholesky", "random_features"])
def test_number_of_components(approximation):
    refused(build(KernelKMeans, 3, approximation=approximation, n_components=0), X, "n_components=0", "1 or more")


@pytest.mark.parametrize("Estimator", [KernelKMeans, StructuredClustering])
@pytest.mark.parametrize(
    ("parameter", "wrong"),
    [
        ("degree", "x"), ("degree", None), ("degree", np.nan), ("degree", np.inf), ("degree", -1), ("degree", [3]),
        ("degree", 2.5), ("degree", 0),
        ("coef0", "x"), ("coef0", None), ("coef0", np.nan), ("coef0", np.inf), ("coef0", [1]),
    ],
    ids=repr,
)  # fmt: skip
def test_polynomial_parameters(Estimator, parameter, wrong):
    """(gamma <x, y> + coef0)^degree is no kernel, or NaN where the base is negative, unless the degree is whole."""
    model = build(Estimator, 3, kernel="polynomial", kernel_params={parameter: wrong})
    refused(model, X, parameter, error=(ValueError, TypeError))


@pytest.mark.parametrize(
    ("kernel", "params", "says"),
    [
        ("graph", {"n_neighbors": 0}, ["n_neighbors=0", "1 or more"]),
        ("graph", {"n_neighbors": 2.5}, ["n_neighbors=2.5", "integer"]),
        ("graph", {"n_neighbors": "x"}, ["n_neighbors='x'"]),
        ("graph", {"n_neighbors": True}, ["n_neighbors=True"]),
        ("graph", {"regularization": -1.0}, ["regularization=-1"]),
        ("graph", {"regularization": np.nan}, ["regularization=nan"]),
        ("graph", {"regularization": "x"}, ["regularization='x'"]),
        ("diffusion", {"time": 0.0}, ["time=0"]),
        ("diffusion", {"time": -1.0}, ["time=-1"]),
        ("diffusion", {"time": np.nan}, ["time=nan"]),
        ("diffusion", {"time": "x"}, ["time='x'"]),
        ("diffusion", {"time": np.inf}, ["time=inf"]),
        ("diffusion", {"laplacian": "plane"}, ["laplacian 'plane'", "Did you mean 'plain'"]),
        ("rbf", {"gamma": -1.0}, ["gamma=-1"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("approximation", [None, "nystroem"])
def test_kernel_params(kernel, params, says, approximation):
    model = build(KernelKMeans, 3, kernel=kernel, kernel_params=params, approximation=approximation)
    refused(model, X, *says, error=(ValueError, TypeError))


def test_precomputed_takes_one_parameter():
    refused(precomputed(kernel=Precomputed(indefinite="clipp")), K, "indefinite", "Did you mean 'clip'")
    for approximation in ("nystroem", "cholesky"):
        model = precomputed(kernel=Precomputed(indefinite="clip"), approximation=approximation)
        refused(model, K, "whole matrix", approximation)
    refused(precomputed(kernel=Precomputed(indefinite="clip")), -K, "no positive eigenvalue", "distances")


@pytest.mark.parametrize(
    ("nested", "says"),
    [
        (
            {"kernel__gama": 1.0},
            r"kernel__gama: kernel='rbf' has no parameter 'gama' \(it has: gamma\).*RBF\(gamma=0.5\)",
        ),
        ({"kernel": "linear", "kernel__gamma": 1.0}, "kernel__gamma: kernel='linear' has no parameter 'gamma'.*none"),
        ({"kernel": "graph", "kernel__time": 3}, "has no parameter 'time'.*n_neighbors"),
        ({"approximation": None, "approximation__n_components": 3}, "approximation=None has no parameters"),
        ({"nonsense__gamma": 1.0}, "Invalid parameter 'nonsense'"),
    ],
    ids=str,
)
def test_nested_parameters_that_a_term_does_not_have(nested, says):
    with pytest.raises(ValueError, match=says):
        KernelKMeans(3).set_params(**nested)


@pytest.mark.parametrize(
    ("term", "says"),
    [
        ({"kernel": Greedy()}, ["kernel=Greedy", "is a solver", r"RBF\(gamma=0.5\)"]),
        ({"solver": RBF()}, ["solver=RBF", "is a kernel", "Greedy"]),
        ({"objective": Greedy()}, ["objective=Greedy", "is a solver", "Dependence"]),
        ({"approximation": RBF()}, ["approximation=RBF", "is a kernel", "Nystroem"]),
        ({"kernel": RBF}, ["kernel=RBF is a class", r"kernel=RBF\(\)"]),
        ({"solver": Greedy}, ["solver=Greedy is a class", r"solver=Greedy\(\)"]),
        ({"kernel": "rbf:0.5"}, ["unknown kernel 'rbf:0.5'", r"RBF\(gamma=0.5\)"]),
    ],
    ids=str,
)
def test_terms_of_the_wrong_kind(term, says):
    """An error names the term, what was given, and a correct value."""
    refused(StructuredClustering(3, **term), X, *says, error=(ValueError, TypeError))


# -- kernel functions -------------------------------------------------------------------------------------------------


def a_number(x, y):
    return float(np.exp(-((x - y) ** 2).sum()))


def not_a_number(A, B):
    return np.where(rbf_kernel(A, B) < 0.5, np.nan, 1.0)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (a_number, [r"shape \(\)", r"\(n, d\), \(m, d\)", r"\(n, m\) matrix"]),
        (lambda A, B: rbf_kernel(A, B)[:, :-1], [r"shape \(12, 11\)", r"\(n, m\) matrix"]),
        (lambda A, B: rbf_kernel(A, B)[:, 0], [r"shape \(12,\)", r"\(n, m\) matrix"]),
        (lambda A, B: rbf_kernel(A, B) + A[:, :1], ["kernel function|kernel matrix", "not symmetric"]),
        (not_a_number, ["kernel", "NaN"]),
        (lambda A, B: rbf_kernel(A, B) / 0.0, ["kernel", "infinity"]),
        (lambda A, B: -pairwise_distances(A, B), None),
        (lambda A, B: pairwise_distances(A, B), ["positive semidefinite", "similarities"]),
        (lambda A, B: np.full((len(A), len(B)), "x"), ["kernel function", "number"]),
        (lambda A, B: None, ["kernel function"]),
    ],
    ids=["one pair", "column short", "1-d", "asymmetric", "nan", "inf", "psd once centred", "distances", "text",
         "None"],
)  # fmt: skip
def test_kernel_functions(function, says):
    model = KernelKMeans(3, kernel=function)
    if says is None:  # minus distances are conditionally definite: centred, they are a kernel
        assert np.isfinite(model.fit(X).objective_)
        return
    with np.errstate(divide="ignore"):
        message = refused(model, X, *says, error=(ValueError, TypeError))
    assert "precomputed" not in message, "the user gave a function"


@pytest.mark.parametrize("approximation", ["nystroem", "cholesky"])
@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda A, B: rbf_kernel(A, B)[:, :-1], [r"\(n, m\) matrix"]),
        (not_a_number, ["kernel", "NaN|finite"]),
        (lambda A, B: -rbf_kernel(A, B), ["positive semidefinite"]),
    ],
    ids=["column short", "nan", "negative"],
)
def test_kernel_functions_of_low_rank(function, says, approximation):
    refused(KernelKMeans(3, kernel=function, approximation=approximation), X, *says)


def test_landmarks_show_that_a_function_is_not_symmetric():
    model = KernelKMeans(3, kernel=lambda A, B: rbf_kernel(A, B) + A[:, :1], approximation="nystroem")
    refused(model, X, "symmetric")


def test_errors_inside_the_users_function_stay_the_users():
    def broken(A, B):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        KernelKMeans(3, kernel=broken).fit(X)


def test_keywords_that_the_users_function_does_not_take():
    model = build(KernelKMeans, 3, kernel=lambda A, B: A @ B.T, kernel_params={"width": 2})
    refused(model, X, "width", error=TypeError)


# -- weights ----------------------------------------------------------------------------------------------------------


@every_estimator
@pytest.mark.parametrize(
    ("weight", "says"),
    [
        (changed(np.ones(m), 4, -0.5), [r"sample_weight\[4\]", "negative", "zero or more"]),
        (np.zeros(m), ["[Ss]ample.weight", "zero"]),
        (changed(np.ones(m), 4, np.nan), ["sample_weight|Input", "NaN"]),
        (changed(np.ones(m), 4, np.inf), ["infinity"]),
        (np.ones(m - 1), [r"sample_weight", r"\(11,\)"]),
        (np.ones(m + 1), [r"sample_weight", r"\(13,\)"]),
        (np.ones((m, 1)), ["sample_weight|Sample weights", "1D"]),
        (["heavy"] * m, ["could not convert"]),
        ("balanced", ["sample_weight|could not convert"]),
    ],
    ids=["negative", "zero", "nan", "inf", "short", "long", "column", "text", "name"],
)
def test_weights(Estimator, weight, says):
    refused(Estimator(3), X, *says, error=(ValueError, TypeError), sample_weight=weight)


@pytest.mark.parametrize("weight", [-np.ones(m), np.zeros(m), np.full(m, np.nan), np.ones(m - 1)])
def test_weights_of_score(weight):
    model = KernelKMeans(3, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"[Ss]ample.weight|NaN"):
        model.score(X, sample_weight=weight)


# -- losses and starts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "says"),
    [
        (1 - np.eye(4), [r"\(4, 4\)", "3 clusters", "3 x 3"]),
        (np.ones((3, 2)), [r"\(3, 2\)", "3 x 3"]),
        (np.ones(3), ["2D"]),
        (-(1 - np.eye(3)), ["non-negative"]),
        (np.ones((3, 3)), ["zero diagonal"]),
        (np.full((3, 3), np.nan), ["loss", "NaN"]),
        ([["a"] * 3] * 3, ["could not convert|numeric"]),
        (3.0, ["loss|2D"]),
    ],
    ids=["too large", "not square", "1-d", "negative", "diagonal", "nan", "text", "number"],
)
@pytest.mark.parametrize("normalize", ["l1", "l2", None])
def test_losses(loss, says, normalize):
    refused(StructuredClustering(3, structure="chain", objective=Dependence(loss=loss, normalize=normalize)), X, *says)


@every_estimator
@pytest.mark.parametrize(
    ("init", "says"),
    [
        (np.arange(m - 1) % 3, ["init", r"\(11,\)", "12 samples"]),
        (np.arange(m)[:, None] % 3, ["init", r"\(12, 1\)"]),
        (np.arange(m) % 4, ["init", "0 to 2"]),
        (np.arange(m) % 3 - 1, ["init", "0 to 2"]),
        (np.arange(m) % 3 + 0.5, ["init", "integers"]),
        (changed(np.arange(m) % 3, 0, np.nan), ["init", "integers"]),
        (changed(np.arange(m) % 3, 0, 1e300), ["init", "integers"]),
        (["a", "b", "c"] * 4, ["init", "integers"]),
        ([], ["init", r"\(0,\)", "12 samples"]),
        (X[:3], ["init", r"\(3, 3\)", "one for each of the 12"]),
        (3, ["init"]),
        ([[0, 1], [2]], ["init"]),
    ],
    ids=["short", "column", "too large", "negative", "halves", "nan", "1e300", "text", "empty", "centres", "number",
         "ragged"],
)  # fmt: skip
def test_given_starts(Estimator, init, says):
    refused(build(Estimator, 3, init=init), X, *says, error=(ValueError, TypeError))


def test_given_starts_belong_to_all_samples_also_those_of_weight_zero():
    """A start has one label a sample of X; one that fits only the samples of positive weight is too short."""
    weight = np.ones(m)
    weight[[2, 7]] = 0
    good = KernelKMeans(3, init=np.arange(m) % 3).fit(X, sample_weight=weight)
    assert good.labels_.shape == (m,)
    refused(KernelKMeans(3, init=np.arange(m - 2) % 3), X, "init", "12 samples", sample_weight=weight)
    refused(KernelKMeans(3, init=np.arange(m + 3) % 3), X, "init", "12 samples", sample_weight=weight)
    refused(KernelKMeans(3, init=changed(np.arange(m) % 3, 2, 9)), X, "init", "0 to 2", sample_weight=weight)


# -- after fitting ----------------------------------------------------------------------------------------------------


@every_estimator
@pytest.mark.parametrize("method", ["predict", "score"])
def test_before_fit(Estimator, method):
    with pytest.raises(NotFittedError, match=Estimator.__name__):
        getattr(Estimator(3), method)(X)


@pytest.mark.parametrize("kernel", kernels(pairwise=False, without=("auto",)))
@pytest.mark.parametrize("method", ["predict", "score"])
@pytest.mark.parametrize(
    ("new", "says"),
    [
        (X[:, :2], "2 features.*expecting 3"),
        (np.hstack([X, X]), "6 features.*expecting 3"),
        (X[0], "2D"),
        (X[:0], "0 sample"),
        (changed(X, (0, 0), np.nan), "NaN"),
        (changed(X, (0, 0), np.inf), "infinity"),
    ],
    ids=["narrow", "wide", "1-d", "empty", "nan", "inf"],
)
def test_new_samples(kernel, method, new, says):
    model = KernelKMeans(3, kernel=kernel, random_state=0).fit(X)
    before = model.labels_.copy()
    with pytest.raises(ValueError, match=says):
        getattr(model, method)(new)
    np.testing.assert_array_equal(model.labels_, before)
    assert model.n_features_in_ == 3


@every_approximation
def test_new_similarities(approximation):
    model = precomputed(approximation=approximation, random_state=0).fit(K)
    with pytest.raises(ValueError, match=r"7 features.*expecting 12|\(12, 7\)|7 columns"):
        model.predict(K[:, :7])
    with pytest.raises(ValueError, match="NaN"):
        model.predict(changed(K, (0, 0), np.nan))
    assert model.predict(K[:2]).shape == (2,)


FAILURES = {
    "nan": ({}, {"X": changed(X, (0, 0), np.nan)}),
    "weights": ({}, {"X": X[:, :2], "sample_weight": -np.ones(m)}),
    "too few": ({}, {"X": X[:2, :2]}),
    "number": ({"max_iter": 0}, {"X": X[:, :2]}),
    "name": ({"init": "spectrall"}, {"X": X[:, :2]}),
    "kernel": ({"kernel": pairwise_distances}, {"X": X[:, :2]}),
}


@every_estimator
@pytest.mark.parametrize("failure", FAILURES)
def test_a_failed_fit_leaves_no_model(Estimator, failure):
    params, fit = FAILURES[failure]
    model = build(Estimator, 3, **params)
    with pytest.raises(ValueError):
        model.fit(**fit)
    for method in (model.predict, model.score):
        with pytest.raises(NotFittedError):
            method(X[:, :2])


@every_estimator
@pytest.mark.parametrize("failure", FAILURES)
def test_a_failed_refit_does_not_mix_old_and_new(Estimator, failure):
    """After an error the estimator keeps all of its last fit, or none of it."""
    params, fit = FAILURES[failure]
    model = Estimator(3, random_state=0).fit(X)
    labels, kept = model.labels_.copy(), model.predict(X)
    with pytest.raises(ValueError):
        model.set_params(**params).fit(**fit)
    if hasattr(model, "labels_"):
        assert model.n_features_in_ == 3
        np.testing.assert_array_equal(model.labels_, labels)
        np.testing.assert_array_equal(model.predict(X), kept)
    else:
        with pytest.raises(NotFittedError):
            model.predict(X)


@every_estimator
def test_unknown_parameters(Estimator):
    with pytest.raises(TypeError, match="n_cluster"):
        Estimator(n_cluster=3)
    with pytest.raises(ValueError, match=r"[Ii]nvalid parameter"):
        Estimator().set_params(n_cluster=3)
