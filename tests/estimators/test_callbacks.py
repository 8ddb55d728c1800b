"""Callbacks of scikit-learn hear every stage of a fit, in order; verbose goes to the logger, never to stdout."""

import logging

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelclust
from kernelclust import (
    MaxMarginClustering,
    MultiKernelClustering,
    StructuredClustering,
    _progress,
    select_n_clusters,
)
from kernelclust.margin import CuttingPlane

pytestmark = pytest.mark.usefixtures("few_starts")

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 has callbacks")
X = np.random.default_rng(0).standard_normal((40, 3)) + np.repeat([[0], [4]], 20, axis=0)


class Diary:
    """What was heard."""

    max_propagation_depth = None

    def __init__(self):
        self.lines = []

    def setup(self, estimator, context):
        self.lines.append(("setup", context.estimator_name, context.max_subtasks))

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.lines.append(("begin", context.task_name, X is not None))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.lines.append(("end", context.task_name, fitted_estimator))

    def teardown(self, estimator, context):
        self.lines.append(("teardown",))

    def of(self, kind):
        return [line[1] for line in self.lines if line[0] == kind]


STAGES = ["kernel", "eigenvectors", "search", "evidence"]
ESTIMATORS = [
    (StructuredClustering(structure="chain:3", kernel="rbf", random_state=0), STAGES),
    (kernelclust.KernelKMeans(2, kernel="rbf", random_state=0), STAGES[:-1]),
    (kernelclust.Diffrac(2, kernel="rbf", random_state=0), STAGES),
    (MultiKernelClustering(2, kernel=["rbf", "linear"], random_state=0), ["kernel", "search", "evidence"]),
    (MaxMarginClustering(2, solver=CuttingPlane(n_init=2), random_state=0), ["search"]),
]


@pytest.mark.parametrize(("model", "stages"), ESTIMATORS, ids=lambda value: type(value).__name__)
def test_every_estimator_tells_its_stages(model, stages):
    diary, model = Diary(), clone(model)
    assert model.set_callbacks(diary) is model
    model.fit(X)
    assert diary.of("begin") == ["fit", *stages]
    assert diary.of("end") == [*stages, "fit"]
    assert diary.lines[0] == ("setup", type(model).__name__, 4) and diary.lines[-1] == ("teardown",)
    fitted = diary.lines[-2][2]
    assert np.array_equal(fitted.predict(X), model.predict(X))
    assert "_callback_fit_ctx" not in vars(model)
    plain = clone(model)
    plain.set_callbacks()
    assert np.array_equal(plain.fit(X).labels_, model.labels_)


def test_a_failed_fit_is_torn_down_and_whole_or_nothing():
    diary, model = Diary(), StructuredClustering(2, kernel="rbf", random_state=0).fit(X)
    before = model.labels_
    model.set_callbacks(diary).set_params(kernel=lambda A, B: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.fit(X)
    assert diary.lines[-1] == ("teardown",) and diary.of("end") == []
    assert model.labels_ is before and "_callback_fit_ctx" not in vars(model)


def test_callbacks_of_a_pipeline_reach_the_fit():
    diary = Diary()
    make_pipeline(StandardScaler(), StructuredClustering(2, kernel="rbf", random_state=0)).set_callbacks(diary).fit(X)
    assert {"kernel", "search"} <= set(diary.of("begin"))


def test_selection_tells_every_refit():
    diary = Diary()
    select_n_clusters(X, [2, 3], n_perturbations=1, n_null=2, random_state=0, callbacks=[diary])
    assert diary.lines[0] == ("setup", "select_n_clusters", 4)
    assert diary.of("end") == [*["refit"] * 4, "fit"] and diary.lines[-1] == ("teardown",)


def test_the_progress_bar_of_scikit_learn(capsys):
    pytest.importorskip("rich")
    StructuredClustering(2, kernel="rbf", random_state=0).set_callbacks(callback.ProgressBar()).fit(X)
    assert "StructuredClustering - fit" in capsys.readouterr().out


@pytest.mark.parametrize("model", [model for model, _ in [*ESTIMATORS[::3], ESTIMATORS[-1]]])
def test_verbose_is_logged_and_not_printed(model, capsys, caplog):
    caplog.set_level(logging.INFO, logger="kernelclust")
    clone(model).set_params(verbose=1).fit(X)
    assert any(record.getMessage().startswith(type(model).__name__) for record in caplog.records)
    assert capsys.readouterr().out == ""


def test_time_left_is_foretold_from_what_is_done():
    state = _progress.State("selection", "refit 3", 0.25, 10.0, 10.0)
    assert state.seconds_left == 30 and str(state) == "selection, 10 s, about 30 s left: refit 3"
    assert _progress.State("selection", "refit 3", 0.25, 10.0, 15.0).seconds_left == 25  # the part goes on
    assert _progress.State("selection", "refit 3", 0.25, 10.0, 45.0).seconds_left is None  # longer than foretold
    assert _progress.State("fit", "", None, 10.0, 10.0).seconds_left is None  # nothing is known
    assert _progress.State("fit", "", 0.01, 10.0, 10.0).seconds_left is None  # too little


def test_parts_are_those_of_the_work(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "kernelclust.estimators._callbacks.overall_progress", lambda done, total: seen.append(done / total)
    )
    StructuredClustering(2, kernel="rbf", random_state=0).fit(X)
    assert seen == sorted(seen) and seen[0] == 0 and seen[-1] < 1
    seen.clear()
    StructuredClustering(2, random_state=0).fit(X)  # the views of "auto" are parts of its kernel
    assert seen == sorted(seen) and sum(0 < share < seen[-2] for share in seen) > 2
    seen.clear()
    select_n_clusters(X, [2, 3], n_perturbations=1, n_null=2, random_state=0)
    assert seen == [0, 0.25, 0.5, 0.75]


def test_going_back_begins_nothing():
    from kernelclust.estimators._callbacks import run_with_callbacks

    diary = Diary()

    def work(tasks):
        tasks.start(["a", "b", "c"])
        for number in (0, 2, 1, 2):  # a fit within a fit starts with its kernel again
            tasks(number)
        return "done"

    assert run_with_callbacks([diary], "it", work) == "done"
    assert diary.of("begin") == ["fit", "a", "c"] and diary.of("end") == ["a", "c", "fit"]
