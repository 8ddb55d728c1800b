"""Selections behave: tables, pictures, frames, matrices, errors."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from kernelclust import StructuredClustering, select_n_clusters, stability_bound
from kernelclust.kernels import RBF
from kernelclust.objectives import Dependence
from kernelclust.solvers import Greedy

QUICK = {"n_perturbations": 2, "n_null": 2, "random_state": 0, "solver": Greedy(init="spectral")}


def blobs(c=3, n=12):
    rng = np.random.default_rng(0)
    return np.repeat(6 * np.eye(4)[:c], n, axis=0) + rng.standard_normal((c * n, 4))


@pytest.fixture(scope="module")
def selection():
    return select_n_clusters(blobs(), [2, 3, 4], **QUICK)


def test_table_holds_a_row_for_every_candidate(selection):
    assert [row.name for row in selection.rows] == ["2", "3", "4"]
    frame = selection.to_frame()
    assert list(frame.index) == [row.name for row in selection.rows]
    assert_array_equal(frame["p_value"], [row.p_value for row in selection.rows])
    text, html = str(selection), selection._repr_html_()
    assert text.splitlines()[0].split()[:2] == ["n_clusters", "score"]
    assert [line.startswith("*") for line in text.splitlines()[1:4]].index(True) == selection.best_index
    assert selection.reason in text
    assert html.count("<tr>") == 4 and "<td>4</td>" in html
    for row in selection.rows:
        assert 0 < row.smallest <= 1 and 0 <= row.moved <= 1
        assert row.p_value in (1 / 3, 2 / 3, 1.0)
        assert_allclose(row.null_mean, selection.null[row.name].mean())


def test_the_chosen_model_is_fitted_and_usable(selection):
    model = selection.best_estimator_
    assert isinstance(model, StructuredClustering)
    assert selection.best == 3 and model.kernel == "rbf"
    assert_array_equal(model.labels_, np.repeat(model.labels_[::12], 12))
    assert_array_equal(model.predict(blobs()), model.labels_)
    assert_array_equal(selection.labels_, model.labels_)
    assert clone(model).fit(blobs()).objective_ == pytest.approx(model.objective_)


def test_columns_without_content_are_not_shown():
    text = str(select_n_clusters(blobs(), [2, 3], **QUICK | {"n_perturbations": 0}))
    assert "moved" not in text and "p value" in text


def test_frames_keep_their_names():
    frame = pd.DataFrame(blobs(), columns=list("abcd"), index=np.arange(36)[::-1])
    model = select_n_clusters(frame, [2, 3], **QUICK).best_estimator_
    assert list(model.feature_names_in_) == list("abcd")
    assert_array_equal(model.predict(frame), model.labels_)
    assert_array_equal(model.labels_, select_n_clusters(blobs(), [2, 3], **QUICK).labels_)


def test_matrices_are_kernels():
    X = blobs()
    K = X @ X.T
    by_name = select_n_clusters(X, [2, 3], kernel="linear", **QUICK)
    by_matrix = select_n_clusters(K, [2, 3], kernel="precomputed", **QUICK)
    assert by_name.best == by_matrix.best
    assert by_matrix.best_estimator_.kernel == "precomputed"
    assert_array_equal(by_matrix.best_estimator_.predict(K), by_matrix.labels_)
    assert_allclose([row.dependence for row in by_name.rows], [row.dependence for row in by_matrix.rows])


def test_parameters_are_passed_on():
    settings = QUICK | {"structure": "chain", "kernel": RBF(gamma=0.1), "objective": Dependence(rho=1.0)}
    model = select_n_clusters(blobs(), [2, 3], **settings).best_estimator_
    assert model.objective.rho == 1.0 and str(model.structure_) == "chain:3" and model.kernel.gamma == 0.1
    assert select_n_clusters(blobs(), [3, 4], structure="ring", **QUICK).best_estimator_.structure_.n_clusters in (3, 4)


def test_seed_decides_and_threads_do_not():
    first = select_n_clusters(blobs(), [2, 3], **QUICK)
    with threadpool_limits(1):
        again = select_n_clusters(blobs(), [2, 3], **QUICK)
    other = select_n_clusters(blobs(), [2, 3], **QUICK | {"random_state": 1})
    assert first.rows == again.rows
    assert first.rows != other.rows


def test_the_data_are_left_alone():
    X = blobs()
    before = X.copy()
    select_n_clusters(X, [2, 3], **QUICK)
    assert_array_equal(X, before)


def test_progress_is_told(capsys, caplog):
    caplog.set_level("INFO", logger="kernelclust")
    select_n_clusters(blobs(), [2, 3], verbose=1, **QUICK)
    lines = [record.getMessage() for record in caplog.records]
    assert "selection: 2, 3: noise 1 of 2" in lines and "selection: 2, 3: reference 2 of 2" in lines
    assert capsys.readouterr().out == ""


def test_no_clusters_no_claim():
    X = np.random.default_rng(0).standard_normal((40, 2))
    reason = select_n_clusters(X, [2, 3], **QUICK | {"n_null": 20}).reason
    assert "without clusters look alike" in reason


def test_degenerate_data():
    for X in (np.zeros((12, 2)), np.repeat([[0.0], [1.0]], 6, axis=0), np.arange(4.0)[:, None]):
        result = select_n_clusters(X, [2, 3], **QUICK)
        assert result.best in (2, 3) and len(result.labels_) == len(X)
    assert len(select_n_clusters(blobs().astype(np.float32), [1, 2, 3], **QUICK).labels_) == 36


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda X: select_n_clusters(X, [2]), ValueError, "two or more"),
        (lambda X: select_n_clusters(X, kernel="grpah"), ValueError, "graph"),
        (lambda X: select_n_clusters(X, kernel=RBF), TypeError, r"kernel=RBF is a class.*RBF\(\)"),
        (lambda X: select_n_clusters(X, kernel=RBF(gamma=-1)), ValueError, "gamma=-1"),
        (lambda X: select_n_clusters(np.ones((36, 36)), [2, 3], kernel="precomputed"), ValueError, "constant"),
        (lambda X: select_n_clusters(X, structur="chain"), ValueError, "structure"),
        (lambda X: select_n_clusters(X, noise=0), ValueError, "noise"),
        (lambda X: select_n_clusters(X, noise="much"), TypeError, "noise"),
        (lambda X: select_n_clusters(X, n_perturbations=-1), ValueError, "n_perturbations"),
        (lambda X: select_n_clusters(X, null="gauss"), ValueError, "gaussian"),
        (lambda X: select_n_clusters(np.where(X > 5, np.nan, X)), ValueError, "NaN"),
        (lambda X: select_n_clusters(sparse.csr_matrix(X)), TypeError, "dense"),
        (lambda X: select_n_clusters(np.ones((36, 36)), kernel="precomputed_graph"), ValueError, "kernel='graph'"),
        (lambda X: select_n_clusters(X, 3), TypeError, "several numbers"),
        (lambda X: select_n_clusters(X, [2, 2.5]), TypeError, "integer"),
        (lambda X: select_n_clusters(X, [0, 2]), ValueError, "1 or more"),
        (lambda X: select_n_clusters(X, [2, 40]), ValueError, "36 samples"),
        (lambda X: select_n_clusters(X, [2, 3], n_null=1), ValueError, "n_null"),
        (lambda X: select_n_clusters(X, [2, 3], kernel="precomputed"), ValueError, "square"),
        (lambda X: stability_bound(X, np.arange(36)), ValueError, "square"),
        (lambda X: stability_bound(X @ X.T, np.arange(30) % 3), ValueError, "30 entries for 36"),
        (lambda X: stability_bound(X @ X.T, np.zeros(36)), ValueError, "single cluster"),
        (lambda X: stability_bound(X @ X.T, np.arange(36) % 2, np.eye(5)), ValueError, "same samples"),
        (lambda X: stability_bound(X @ X.T, np.arange(36) % 2, None, np.arange(36) % 3), ValueError, "equal numbers"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call(blobs())


def test_picture_shows_the_choice():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from kernelclust.plots import SelectionDisplay

    result = select_n_clusters(blobs(), [2, 3, 4], **QUICK)
    ax = SelectionDisplay.from_selection(result).ax_
    every, chosen = ax.lines
    assert_allclose(every.get_ydata(), [row.dependence for row in result.rows])
    assert chosen.get_xdata() == [result.best_index]
    bars = [segment[:, 1] for segment in ax.collections[0].get_segments()]
    assert_allclose(bars, [[null.min(), null.max()] for null in result.null.values()])
    matplotlib.pyplot.close("all")
