"""Benchmarks run on tiny inputs: what they measure is what they say."""

import importlib
import json
import sys
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest

from kernelclust import structured_hsic

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = "_resume _rivals leaderboard order quality real_data rivals scale speed structure views".split()


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    yield
    for name in SCRIPTS:
        sys.modules.pop(name, None)


def load(name):
    return importlib.import_module(name)


@pytest.mark.parametrize("closed", [False, True])
def test_shortest_order_is_shortest(closed):
    points = np.random.default_rng(0).standard_normal((6, 2))
    D = np.linalg.norm(points[:, None] - points, axis=2)

    def length(order):
        order = [*order, order[0]] if closed else list(order)
        return sum(D[i, j] for i, j in pairwise(order))

    order = load("_rivals").shortest_order(D, closed=closed)
    assert sorted(order) == list(range(6))
    assert length(order) == pytest.approx(min(length(p) for p in permutations(range(6))))


def test_kmeans_path_numbers_clusters_along_the_path():
    X = np.repeat([[0.0], [5.0], [1.0], [9.0]], 5, axis=0)
    labels = load("_rivals").kmeans_path(X, 4, seed=0)[::5]
    assert list(labels) in ([0, 2, 1, 3], [3, 1, 2, 0])


def test_greedy_alone_stops_where_no_move_helps():
    quality = load("quality")
    X = np.random.default_rng(0).standard_normal((30, 2))
    labels = quality.greedy_alone(X, "chain:3", seed=1)
    K = quality.rbf_kernel(X, gamma=1 / (2 * X.var(axis=0).sum()))
    value = structured_hsic(K, labels, "chain:3")
    for i in range(30):
        for b in range(3):
            moved = labels.copy()
            moved[i] = b
            if len(np.unique(moved)) == 3:
                assert structured_hsic(K, moved, "chain:3") <= value * (1 + 1e-9)


def test_quality_runs_on_little(capsys):
    quality = load("quality")
    quality.compare_values([0], n=60, starts=3)
    photo = np.add.outer(np.arange(40.0), 2 * np.arange(40.0) ** 1.5)
    misses = quality.compare_orders([0], photos=[photo], noises=(0.0,), turns=(False,))
    assert misses == 0
    assert "greedy alone" in capsys.readouterr().out


def test_orders_are_drawn_and_calibration_is_told(capsys):
    order = load("order")
    rng = np.random.default_rng(0)
    for name in order.STRUCTURES:
        X, y = order.arranged(name, rng)
        assert np.isfinite(X).all() and len(X) == len(y) and len(np.unique(y)) == order.as_structure(name).n_clusters
    order.print_calibration([("chain:4", 0.95, True), ("chain:4", 0.91, True), ("chain:4", 0.2, False)])
    out = capsys.readouterr().out
    assert "0.93 / 1.00 (2)" in out and "0.20 / 0.00 (1)" in out
    assert order.main(["--only", "real", "--data", ""]) == 0


@pytest.mark.parametrize("job", ["ours", "rbf_matrix", "nystroem_kmeans", "first_fit"])
def test_a_measurement(job):
    told = load("speed").measure(job, [600])
    assert told["wall"] > 0 and told["cpu"] >= 0 and told["peak"] >= 0
    assert json.dumps(told)


def test_table_judges(capsys):
    speed = load("speed")
    table = speed.Table()
    table.ratio("slow", 3.0, 1.0, 2.0)
    table.ratio("fast", 1.0, 9.0, 8.0, faster=True)
    table.limit("memory", 900.0, 1000.0, "MB")
    assert table.misses == 1
    out = capsys.readouterr().out
    assert out.count("MISS") == 1 and out.count("pass") == 2


def test_real_data_without_data_says_so(capsys, monkeypatch, tmp_path):
    real_data = load("real_data")
    monkeypatch.delenv("KERNELCLUST_DATA", raising=False)
    assert real_data.main([]) == 0
    assert real_data.main(["--data", str(tmp_path)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 2 and all(line.startswith("nothing to measure") for line in out)


def test_real_data_designs():
    real_data = load("real_data")
    frames, places = real_data.sectors(36, 3, 2 / 3, "first")
    assert list(frames[:9]) == [0, 1, 2, 3, 4, 5, 6, 7, 12] and list(np.bincount(places)) == [8, 8, 8]
    frames, _ = real_data.sectors(36, 3, 2 / 3, "middle")
    assert frames[0] == 2 and frames[-1] == 33
    X = np.random.default_rng(0).standard_normal((20, 3))
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    mean = distances[~np.eye(20, dtype=bool)].mean()
    assert real_data.mean_squared_distance(X) == pytest.approx(mean)
    assert real_data.mean_squared_distance(real_data.csr_matrix(X)) == pytest.approx(mean)


def test_real_data_methods_and_scores():
    real_data = load("real_data")
    y = np.repeat(np.arange(4), 6)
    X = np.c_[y, y] + 0.01 * np.random.default_rng(0).standard_normal((24, 2))
    task = real_data.Task(X, y, "chain:4")
    for method in (real_data.ours, real_data.rival, real_data.place_classes, real_data.path_of_classes):
        scores = real_data.measure([task], method, [0, 1])
        assert scores.text() == "100.0/100.0"


def test_every_row_of_real_data_is_a_line(capsys, monkeypatch):
    """Rows share names: S11 is four sets."""
    real_data = load("real_data")
    monkeypatch.setattr(real_data, "line_of", lambda row, load, seeds: (row.what, True))
    monkeypatch.setattr(real_data, "stages_placed", lambda load, seeds, tau: (f"stages {tau}", False))
    assert real_data.table(None, [0], None, "middle", "log", real_data.Checkpoint(None, "")) == 2
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(real_data.rows("middle", "log")) + 2


def test_views_are_scored_beside_their_rivals(tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 12)
    views = {f"X_{v}": 4 * rng.standard_normal((3, 2))[y] + rng.standard_normal((36, 2)) for v in range(2)}
    np.savez(tmp_path / "little.npz", y=y, **views)
    arguments = ["--data", str(tmp_path), "--seeds", "1", "--only", "little,missing"]
    assert load("views").main(arguments) in (0, 1)
    out = capsys.readouterr().out
    assert "missing: not there" in out and out.count("little") == 1 and "KernelKMeans, auto" in out


def test_growth_is_fitted_and_drawn(monkeypatch, tmp_path, capsys):
    scale = load("scale")
    assert scale.exponent([10, 100, 1000], [1.0, 100.0, 10000.0]) == pytest.approx(2.0)
    monkeypatch.setitem(scale.SIZES, "low rank", [600, 1200])
    (tmp_path / "scale.json").write_text('{"gpu": [[10, 100], [0.1, 0.4]]}')  # by another machine
    scale.main(["--only", "low rank", "--out", str(tmp_path)])
    kept = json.loads((tmp_path / "scale.json").read_text())
    assert kept["gpu"] == [[10, 100], [0.1, 0.4]] and kept["low rank"][0] == [600, 1200]
    assert "exponent" in capsys.readouterr().out and (tmp_path / "scale.png").stat().st_size > 1000
    X = scale.ring(50)
    sums, n = scale.nearest(X, X[:3])
    assert n.sum() == 50 and np.allclose(sums.sum(axis=0), X.sum(axis=0), atol=1e-4)


def test_rivals_are_measured_and_drawn(monkeypatch, tmp_path, capsys):
    rivals = load("rivals")
    X, y = rivals.curve(80)
    K = rivals.rbf_kernel(X, gamma=rivals.gamma(X))
    mean = np.eye(rivals.CLUSTERS)[y] / np.bincount(y)[y][:, None]
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    share = np.trace(centred @ mean @ np.eye(rivals.CLUSTERS)[y].T) / np.trace(centred)
    assert rivals.between(X, y) == pytest.approx(share)
    monkeypatch.setitem(rivals.METHODS, "truth", lambda X: rivals.curve(len(X))[1])
    found = rivals.measure("truth", [200, 400])
    assert all(one["ari"] == one["placed"] == 1 for one in found) and [one["n"] for one in found] == [200, 400]
    assert "truth" in rivals.line("truth", found)
    rivals.plot({"truth": found}, tmp_path)
    assert (tmp_path / "rivals.png").stat().st_size > 1000
    monkeypatch.setattr(rivals, "LIMIT", 0.0)
    assert len(rivals.measure("KMeans", [200, 400])) == 1  # the first took longer than that


def test_rivals_that_fail_are_left_out_with_their_error(monkeypatch, capsys):
    rivals = load("rivals")

    def run(name, sizes):
        raise RuntimeError("ModuleNotFoundError: No module named 'minisom'")

    monkeypatch.setattr(rivals, "run", run)
    assert rivals.main(["--only", "MiniSom"]) == 0
    assert "left out: ModuleNotFoundError: No module named 'minisom'" in capsys.readouterr().out


def test_structure_and_flat_are_scored_on_one_kernel():
    structure = load("structure")
    y = np.repeat([2, 0, 3, 1], 6)
    X = np.c_[3.0 * y, np.cos(y)] + 0.01 * np.random.default_rng(0).standard_normal((24, 2))
    for kernel, data in (("rbf", X), ("precomputed", np.exp(-0.05 * ((X[:, None] - X) ** 2).sum(axis=2)))):
        task = structure.mixed(structure.Task(data, y, "chain:4"), kernel, 1)
        assert np.array_equal(np.sort(task.y), np.sort(y)) and not np.array_equal(task.y, y)
        assert set(structure.scores(task, kernel, 0).values()) == {(1.0, 1.0)}


def test_the_suite_scores_the_best_reference_without_its_noise():
    leaderboard = load("leaderboard")
    halves, thirds = np.array([1, 1, 1, 2, 2, 2, 0, 0]), np.array([1, 1, 2, 2, 3, 3, 3, 3])
    clusterings = {2: np.array([5, 5, 5, 7, 7, 7, 5, 7]), 3: np.array([0, 1, 2, 0, 1, 2, 0, 1])}
    asked = []

    def cluster(k):
        asked.append(k)
        return clusterings[k]

    assert leaderboard.suite_score([halves, thirds, thirds], cluster) == 1
    assert asked == [2, 3]  # once for each number of clusters
    assert leaderboard.suite_score([thirds], cluster) < 0.1
    assert leaderboard.suite_score([halves + (halves == 0)], cluster) < 1  # the same, and no sample is noise


def test_wins_ties_losses_and_the_best_published_setting():
    leaderboard = load("leaderboard")
    assert leaderboard.tally(np.array([0.92, 0.91, 0.90, 0.89, 0.88]), np.full(5, 0.9)) == (1, 3, 1)
    assert leaderboard.mean_difference([0.5, 0.7], [0.4, 0.4]) == pytest.approx((0.2, 0.1))
    published = {"A_1": np.array([0.2, 0.4]), "A_2": np.array([0.3, 0.5]), "A_3": np.array([0.9, np.nan]), "B": [1, 1]}
    assert leaderboard.best_setting(published, "A_") == "A_2"


def test_the_leaderboard_ranks_defaults_among_published_settings(tmp_path, capsys, monkeypatch):
    leaderboard = load("leaderboard")
    monkeypatch.delenv("KERNELCLUST_DATA", raising=False)
    assert leaderboard.main([]) == 0
    assert capsys.readouterr().out.startswith("nothing to measure")
    y = np.repeat([1, 2, 3], 12)
    X = np.c_[9.0 * y, y % 2] + 0.1 * np.random.default_rng(0).standard_normal((36, 2))
    one_set = {"X": X, "y0": y}
    arrays = {f"{name}/{part}": one_set[part] for name in ("b/two", "a/one") for part in one_set}
    np.savez(tmp_path / leaderboard.SUITE, **arrays)
    settings = [start + "x" if start.endswith("_") else start for start in leaderboard.RIVALS.values()]
    settings += ["FCPS_HDBSCAN_y", "lacking"]
    scores = [0.5] * (len(settings) - 2) + [0.6, ""]
    lines = [["battery", "set", *settings], ["a", "one", *scores], ["b", "two", *scores[:-1], 0.9]]
    (tmp_path / leaderboard.PUBLISHED).write_text("\n".join(",".join(map(str, line)) for line in lines))
    files = ["--plot", str(tmp_path / "a.png"), "--resume", str(tmp_path / "a.json")]
    arguments = ["--data", str(tmp_path), "--jobs", "1", "--seeds", "1", *files]
    assert leaderboard.main(arguments) == 0
    out = capsys.readouterr().out
    assert "| **default** | 1.000 | 1.000 | 1.000 |" in out and "| best HDBSCAN (y) | 0.600 | 0.600 | 0.600 |" in out
    assert f"default: rank 1 beside the {len(settings) - 1} published settings" in out
    assert "of these lacking has the highest mean, 0.900 on its 1 sets" in out
    assert "| KMeans | 2 / 0 / 0 |" in out and out.rstrip().endswith(leaderboard.TUNED)
    assert (tmp_path / "a.png").stat().st_size > 1000
    monkeypatch.setattr(leaderboard, "measure", None)  # every fit is kept
    assert leaderboard.main(arguments) == 0 and capsys.readouterr().out == out
