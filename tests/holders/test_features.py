"""Partitions, against the same samples in one piece."""

import numpy as np
import pytest
from flat_parameters import build

from kernelclust import DisKMeans, KernelKMeans, MaxMarginClustering, StructuredClustering
from kernelclust._arrays import knows_numpy
from kernelclust.engine._rounds import climb
from kernelclust.engine.holders import ArrayPartitions, FeaturePool, Features
from kernelclust.engine.holders._features import Sums, last_look, look, sweep
from kernelclust.objectives import Assignment, Dependence
from kernelclust.structures import as_structure

da = pytest.importorskip("dask.array")
pytestmark = [pytest.mark.usefixtures("few_starts"), pytest.mark.filterwarnings("ignore::UserWarning")]


def _ring(m=1200, c=6, noise=0.15, seed=0):
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * rng.integers(0, c, m) / c
    return np.c_[np.cos(angle), np.sin(angle), np.zeros(m)] + noise * rng.standard_normal((m, 3))


@pytest.fixture(autouse=True)
def small_start(monkeypatch):
    monkeypatch.setattr("kernelclust.engine._rounds.MIN_SUBSAMPLE", 200)
    monkeypatch.setattr("kernelclust.engine._rounds.PER_CLUSTER", 1)
    monkeypatch.setattr("kernelclust.engine.holders._features.FeaturePool.settled", 0.0)
    monkeypatch.setattr("kernelclust.engine.holders._features.ROWS", 100)


def _identity(X):
    return X


def test_sums_of_partitions_add_up_to_those_of_all():
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((250, 4)), rng.choice([1.0, 2.0], 250)
    rule, other = (Assignment(rng.standard_normal((4, 3)), rng.standard_normal(3)) for _ in range(2))
    labels = np.argmax(X @ rule.M + rule.h, axis=1)
    P = np.eye(3)[labels] * w[:, None]
    whole = sweep(X, w, None, _identity, rule, other)
    np.testing.assert_allclose(whole.features, P.T @ X)
    np.testing.assert_allclose(whole.n, P.sum(axis=0))
    assert whole.moved == np.sum(labels != np.argmax(X @ other.M + other.h, axis=1))
    pieces = [sweep(X[part], w[part], None, _identity, rule, other) for part in (slice(0, 90), slice(90, 250))]
    total = pieces[0] + pieces[1]
    np.testing.assert_allclose(total.features, whole.features)
    assert total.moved == whole.moved
    np.testing.assert_allclose((whole - pieces[0]).n, pieces[1].n)


def test_the_last_look_finds_medoids_and_the_gram_matrix():
    rng = np.random.default_rng(1)
    X, T = rng.standard_normal((250, 4)), rng.standard_normal((4, 2))
    rule = Assignment(rng.standard_normal((4, 3)), np.zeros(3))
    labels = np.argmax(X @ rule.M, axis=1)
    means = np.array([(X @ T)[labels == j].mean(axis=0) for j in range(3)]).T
    found = last_look(X, None, None, _identity, T, rule, means)
    np.testing.assert_allclose(found.gram, X.T @ X)
    away = np.linalg.norm((X @ T)[:, None] - means.T, axis=2)
    for j in range(3):
        here = np.flatnonzero(labels == j)
        assert found.row[j] == here[np.argmin(away[here, j])]


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("shape", [(4, 3), (4,)])
def test_a_rule_follows_the_slopes_of_f(shape, center):
    rng = np.random.default_rng(2)
    X, T = rng.standard_normal((60, 4)) + 1.0, rng.standard_normal(shape)
    P = np.eye(4)[rng.integers(0, 4, 60)]
    objective, features = Dependence(rho=2.0).bind(as_structure("ring:4")), Features(_identity, T, center)
    total = Sums(P.T @ X, P.sum(axis=0))
    rule = features.rule(objective, total)
    B = features(X)
    B = B - B.mean(axis=0) if center else B
    K = B @ B.T
    M, h = objective.slopes(P.T @ K @ P, total.n)
    rise, expected = X @ rule.M + rule.h, K @ P @ M + h
    shift = (rise - expected).mean(axis=1, keepdims=True) if center else 0.0  # which no label depends on
    np.testing.assert_allclose(rise - shift, expected, atol=1e-9)
    assert features.value(objective, total) == pytest.approx(objective.value(P.T @ K @ P, total.n))


def test_a_rule_that_lowers_f_is_followed_by_those_partitions_that_gain():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 4))
    objective = Dependence(rho=0.0).bind(as_structure("flat:3"))
    partitions = ArrayPartitions(X, blocks=3)

    class Wild(Features):
        def rule(self, objective, total):
            return Assignment(rng.standard_normal((4, 3)), np.zeros(3))

    lengths = []
    for _ in range(20):
        features = Wild(_identity, None)
        pool = FeaturePool(partitions, features, features.rule(None, None))
        done = climb(pool, objective, max_iter=40)
        assert np.all(np.diff(done.history) > 0) and done.stopped_because == "converged"
        assert features.value(objective, pool.total) == pytest.approx(done.history[-1])
        again = partitions.each(sweep, raw=_identity, rule=pool.rules, before=None)
        np.testing.assert_allclose([one.n for one in again], [one.n for one in pool.each])
        lengths.append(len(done.history))
    assert max(lengths) > 3


@pytest.mark.parametrize("structure", ["ring:6", "flat:6", "tree:2x3"])
@pytest.mark.parametrize("kernel", ["linear", "cosine"])
def test_kernels_with_features_give_what_one_piece_gives(kernel, structure):
    X = _ring() + 0.0
    model = StructuredClustering(structure=structure, kernel=kernel, random_state=0)
    labels, F, bound = model.fit(X).labels_, model.objective_, model.upper_bound_
    medoids, position = model.medoids_, model.position_
    model.fit(da.from_array(X, chunks=(350, -1)))
    assert np.mean(model.labels_.compute() != labels) <= 0.003  # first-order moves end a little earlier
    assert model.objective_ == pytest.approx(F, rel=1e-4)
    assert model.objective_ <= model.diagnostics_.size_bound and model.upper_bound_ == pytest.approx(bound, rel=1e-9)
    assert np.mean(model.medoids_ == medoids) > 0.6
    assert model.labels_.chunks == ((350, 350, 350, 150),)
    assert np.all(np.diff(model.diagnostics_.history) >= 0)
    if structure == "ring:6":
        turn = np.abs(model.position_.compute() - position)
        assert np.mean(np.minimum(turn, 6 - turn) < 0.1) > 0.99


def test_approximated_kernels_predict_lazily_and_as_they_were_fitted():
    X = _ring()
    parts = da.from_array(X, chunks=(500, -1))
    model = build(StructuredClustering, structure="ring:6", kernel="rbf", n_components=60, random_state=0).fit(parts)
    exact = StructuredClustering(structure="ring:6", kernel="rbf", random_state=0).fit(X)
    labels = model.labels_.compute()
    assert np.mean(labels == exact.labels_) > 0.99
    lazy = model.predict(parts)
    assert hasattr(lazy, "dask")
    np.testing.assert_array_equal(lazy.compute(), labels)
    np.testing.assert_array_equal(model.predict(X[:50]), labels[:50])
    for method in ("transform", "membership", "position"):
        there, here = getattr(model, method)(parts), getattr(model, method)(X)
        assert there.shape == here.shape
        np.testing.assert_allclose(there.compute(), here, atol=1e-9)
    assert model.score(parts) == pytest.approx(model.score(X))
    assert model.diagnostics_.gamma == pytest.approx(exact.diagnostics_.gamma)
    assert len(model.order_.queries(3)) == 3


def test_the_answer_does_not_depend_on_the_scheduler_and_not_much_on_the_partitions():
    import dask

    X = _ring()
    model = StructuredClustering(structure="ring:6", kernel="linear", random_state=0)
    first = model.fit(da.from_array(X, chunks=(300, -1))).labels_.compute()
    with dask.config.set(scheduler="synchronous"):
        np.testing.assert_array_equal(model.fit(da.from_array(X, chunks=(300, -1))).labels_.compute(), first)
    other = model.fit(da.from_array(X, chunks=(1000, 2))).labels_.compute()
    assert np.mean(other == first) > 0.99


def test_weights_and_known_labels():
    X = _ring()
    rng = np.random.default_rng(0)
    copies = rng.integers(1, 4, len(X))
    model = KernelKMeans(6, kernel="linear", random_state=0)
    weighted = model.fit(da.from_array(X, chunks=400), sample_weight=copies)
    assert weighted.sizes_.sum() == copies.sum()
    F = weighted.objective_
    again = model.fit(da.from_array(np.repeat(X, copies, axis=0), chunks=400))
    assert again.objective_ == pytest.approx(F, rel=1e-3)
    found = StructuredClustering(structure="ring:6", kernel="linear", random_state=0).fit(X).labels_
    y = np.full(len(X), -1)
    chosen = np.concatenate([np.flatnonzero(found == j)[:5] for j in range(6)])
    y[chosen] = (found[chosen] + 2) % 6
    wrong = np.flatnonzero(found == 0)[9]
    y[wrong] = 5  # its cluster is 2
    model = StructuredClustering(structure="ring:6", kernel="linear", random_state=0)
    labels = model.fit(da.from_array(X, chunks=400), da.from_array(y, chunks=100)).labels_.compute()
    np.testing.assert_array_equal(labels[y >= 0], y[y >= 0])
    assert np.mean(labels == (found + 2) % 6) > 0.95


@pytest.mark.parametrize("frame", [False, True])
def test_known_labels_may_be_names(frame):
    X = np.repeat(np.arange(3.0), 200)[:, None] + 0.05 * np.random.default_rng(0).standard_normal((600, 2))
    y = np.full(600, None, dtype=object)
    y[[0, 599]] = "bloom", "seed"
    given = da.from_array(y, chunks=150)
    if frame:
        frames = pytest.importorskip("dask.dataframe")
        given = frames.from_pandas(pytest.importorskip("pandas").Series(y), npartitions=3)
    model = StructuredClustering(structure="chain:(seed,sprout,bloom)", kernel="linear", random_state=0)
    labels = model.fit(da.from_array(X, chunks=200), given).labels_.compute()
    np.testing.assert_array_equal(labels, 2 - np.repeat(np.arange(3), 200))
    with pytest.raises(ValueError, match="clusters of chain:3 have no names"):
        model.set_params(structure="chain:3").fit(da.from_array(X, chunks=200), given)


def test_lengths_that_are_not_known_are_counted(caplog):
    X = _ring()
    parts = da.from_array(X, chunks=400)
    unknown = parts[parts[:, 0] > -10]
    assert np.isnan(unknown.shape[0])
    with caplog.at_level("INFO", logger="kernelclust"):
        labels = KernelKMeans(6, kernel="linear", random_state=0).fit(unknown).labels_
    assert "are counted, once" in caplog.text and labels.shape == (1200,)


def test_bad_partitions_are_refused():
    X = _ring()
    X[801, 2] = np.nan
    parts = da.from_array(X, chunks=400)
    model = KernelKMeans(6)
    with pytest.raises(ValueError, match="partition 2, row 1 of it, column 2"):
        model.fit(parts)
    assert not hasattr(model, "labels_")
    with pytest.raises(TypeError, match="float16"):
        model.fit(parts.astype(np.float16))
    with pytest.raises(ValueError, match="all samples are equal"):
        model.fit(da.ones((100, 3), chunks=(30, 3)))
    with pytest.raises(ValueError, match="two dimensions"):
        model.fit(parts[:, 0])
    with pytest.raises(ValueError, match=r"DisKMeans.*not supported yet for partitions"):
        DisKMeans().fit(parts)
    with pytest.raises(ValueError, match=r"approximation='cholesky'.*not supported yet"):
        KernelKMeans(6, approximation="cholesky").fit(parts)
    with pytest.raises(ValueError, match=r"kernel='graph'.*not supported yet.*Take kernel='auto'"):
        StructuredClustering(kernel="graph").fit(parts)
    whole = da.from_array(_ring(), chunks=400)
    with pytest.raises(ValueError, match=r"y holds invalid labels.*partition 1"):
        model.fit(whole, np.where(np.arange(1200) == 500, 6, -1))
    with pytest.raises(ValueError, match=r"sample_weight is negative.*partition 2"):
        model.fit(whole, sample_weight=np.where(np.arange(1200) == 900, -1.0, 1.0))
    with pytest.raises(ValueError, match="sample_weight has shape"):
        model.fit(da.from_array(_ring(), chunks=400), sample_weight=np.ones(7))


def test_what_works_in_memory_says_so():
    X = da.from_array(_ring(60), chunks=20)
    with pytest.warns(UserWarning, match="loaded into memory"):
        MaxMarginClustering(kernel="rbf", random_state=0).fit(X)


def test_a_look_tells_moments_and_takes_a_share():
    X = _ring(5000)
    w = np.random.default_rng(0).choice([0.0, 1.0, 3.0], 5000)
    seen = look(X, w, None, 0, 0.1, 1)
    mean = w @ X / w.sum()
    np.testing.assert_allclose(seen.mean, mean)
    assert seen.square == pytest.approx(w @ ((X - mean) ** 2).sum(axis=1))
    assert 200 < len(seen.some) < 500 and (w[seen.some] > 0).all()
    np.testing.assert_array_equal(seen.rows, X[seen.some])


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "linear"},
        pytest.param(
            {"kernel": "rbf", "approximation": None},
            marks=pytest.mark.skipif(not knows_numpy(), reason="needs NumPy 2 and scikit-learn 1.7"),
        ),
    ],
)
def test_every_round_is_told_with_its_numbers(options, capsys, caplog):
    parts = da.from_array(_ring(300, noise=0.4), chunks=(120, -1))
    with caplog.at_level("DEBUG", logger="kernelclust"):
        model = build(StructuredClustering, structure="ring:6", random_state=0, verbose=1, **options).fit(parts)
    told = [record.args for record in caplog.records if record.msg.startswith("round")]
    assert [number for number, *_ in told] == list(range(1, len(model.diagnostics_.history)))
    assert [value for _, _, value, _ in told] == list(model.diagnostics_.history[1:]) and {m for _, m, *_ in told} == {
        300
    }
    said = [record for record in caplog.records if record.levelname == "INFO" and ": round" in record.getMessage()]
    assert len(said) == len(told) > 0 and capsys.readouterr().out == ""
