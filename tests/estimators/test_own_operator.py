"""A kernel brought as an operator: clustered like its matrix; what is no kernel is refused before work."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import kernelclust.kernels.operators as package
from kernelclust import StructuredClustering
from kernelclust._names import load, names
from kernelclust.kernels import DenseKernel, KernelOperator
from kernelclust.solvers import Greedy

pytestmark = pytest.mark.usefixtures("few_starts")


@pytest.mark.parametrize("name", names(package))
@pytest.mark.parametrize("weight", [np.ones(60), np.linspace(0.5, 2, 60)], ids=["even", "weighted"])
def test_an_operator_is_clustered_as_its_matrix(name, weight):
    operator, _ = load(package, name).example(np.random.RandomState(0), weight)
    model = StructuredClustering(
        structure="ring:4", kernel="precomputed", solver=Greedy(init="k-means++", n_init=3), random_state=0
    )
    K = operator.rows(np.arange(60))
    labels = model.fit(K, sample_weight=weight).labels_
    start = StructuredClustering(structure="ring:4", kernel="precomputed", solver=Greedy(init=labels), random_state=0)
    one, other = start.fit((K + K.T) / 2, sample_weight=weight).objective_, start.fit(operator).objective_
    assert_allclose(other, one, rtol=1e-9)
    assert_array_equal(start.labels_, start.fit_predict((K + K.T) / 2, sample_weight=weight))
    with pytest.raises(ValueError, match="defined for the fitted samples only"):
        start.fit(operator).predict(K)


class Odd(KernelOperator):
    """An operator with one thing wrong."""

    def __init__(self, wrong):
        X = np.random.default_rng(0).standard_normal((30, 2))
        self.inner, self.wrong = DenseKernel(X @ X.T), wrong
        self.weight = np.ones(30)

    def __matmul__(self, V):
        Y = self.inner @ V
        if self.wrong == "finite":
            Y[3] = np.nan
        if self.wrong == "symmetric":
            Y = Y + np.outer(np.arange(30) - 14.5, V[7])
        if self.wrong == "centred":
            Y = Y + V.sum(axis=0)
        return Y[:-1] if self.wrong == "shape" else Y

    def rows(self, index, columns=None):
        out = self.inner.rows(index, columns)
        return out + 1 if self.wrong == "rows" else out

    def diagonal(self):
        return self.inner.diagonal()[: -1 if self.wrong == "diagonal" else None]

    def raw_size(self):
        return self.inner.raw_size()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("finite", "Odd @ V holds values that are not finite"),
        ("symmetric", "Odd is not symmetric"),
        ("shape", r"Odd @ V has shape \(29, 3\); it must be \(30, 3\)"),
        ("rows", "rows of Odd and its products disagree"),
        ("diagonal", r"diagonal\(\) has shape \(29,\)"),
        ("centred", "disagree|not centred"),
    ],
)
def test_what_is_no_kernel_is_refused_and_nothing_is_half_fitted(wrong, says):
    model = StructuredClustering(3, kernel="precomputed", random_state=0)
    with pytest.raises(ValueError, match=says):
        model.fit(Odd(wrong))
    assert not hasattr(model, "labels_") and not hasattr(model, "n_features_in_")
    assert model.fit(Odd("nothing")).labels_.shape == (30,)


def test_missing_members_are_named():
    class Half:
        n_samples = 3

        def __matmul__(self, V):
            return V

    with pytest.raises(ValueError, match="Half lacks weight, rows, diagonal"):
        StructuredClustering(2, kernel="precomputed").fit(Half())


def test_weights_are_the_operators():
    with pytest.raises(ValueError, match="weights are part of it"):
        StructuredClustering(3, kernel="precomputed").fit(Odd("nothing"), sample_weight=np.ones(30))
