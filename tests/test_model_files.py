"""Model files: everything survives bit for bit, and nothing but a model is believed to be one."""

import inspect
import io
import json
import os
import pickle
import time
import tracemalloc
import warnings
import zipfile

import joblib
import numpy as np
import pytest
from flat_parameters import build
from scipy import sparse
from sklearn.base import ClusterMixin
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

import kernelclust
from kernelclust import (
    KernelKMeans,
    MaxMarginClustering,
    MultiKernelClustering,
    StructuredClustering,
    _model_files,
    load,
    load_extra,
)
from kernelclust.kernels import RBF, kernel_class, kernel_names
from kernelclust.margin import Loss, loss_names
from kernelclust.multikernel import method_names
from kernelclust.objectives import Dependence
from kernelclust.structures import Tree, structure_class, structure_names

pytestmark = pytest.mark.usefixtures("few_starts")

ESTIMATORS = {
    name: part
    for name in kernelclust.__all__
    if inspect.isclass(part := getattr(kernelclust, name)) and issubclass(part, ClusterMixin)
}
OF_NEW_SAMPLES = ("predict", "transform", "membership", "position", "score", "decision_function")
OF_THE_FIT = ("arrangements", "questions")
QUICK = {"random_state": 0, "n_init": 2, "compute_confidence": False}

rng = np.random.default_rng(0)
X = np.linspace(0, 3, 36)[:, None] + 0.1 * rng.standard_normal((36, 4))
NEW = X[::5] + 0.05


def bits(value):
    """Something that is equal only where every bit is."""
    if isinstance(value, dict):
        return {key: bits(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(bits, value)]
    if sparse.issparse(value):
        return bits([value.data, value.indices, value.indptr])
    if isinstance(value, (np.ndarray, np.generic)):
        return str(value.dtype), value.shape, value.tolist() if value.dtype == object else value.tobytes()
    return type(value).__name__, repr(value)


def answers(model, new):
    found = {}
    for name in (*OF_NEW_SAMPLES, *OF_THE_FIT):
        if hasattr(model, name):
            try:
                found[name] = bits(getattr(model, name)(*([new] if name in OF_NEW_SAMPLES else [])))
            except ValueError as error:  # such as the position on a flat structure
                found[name] = str(error)
    public = {name: bits(value) for name, value in vars(model).items() if not name.startswith("_")}
    return found | public | {"repr": repr(model), "keys": sorted(vars(model))}


def quietly(model, *given, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*given, **more)


def check_round_trip(model, new, path):
    model.save(path)
    again = load(path)
    assert type(again) is type(model)
    assert answers(again, new) == answers(model, new)
    first = path.read_bytes()
    again.save(path)
    assert path.read_bytes() == first


@pytest.fixture
def path(tmp_path):
    return tmp_path / "months.model"


# -- everything survives -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_survives(name, path):
    known = {"structure": "tree:1x3", "n_clusters": 3, "random_state": 0, "n_init": 1, "compute_confidence": False}
    model = ESTIMATORS[name](
        **{key: known[key] for key in known if key in inspect.signature(ESTIMATORS[name]).parameters}
    )
    quietly(model, X)
    check_round_trip(model, NEW, path)


@pytest.mark.parametrize("approximation", ["auto", "nystroem", "cholesky"])
@pytest.mark.parametrize("kernel", kernel_names())
def test_every_kernel_survives(kernel, approximation, path):
    pairwise = kernel_class(kernel).pairwise
    samples, new = (rbf_kernel(X), rbf_kernel(NEW, X)) if pairwise else (X, NEW)
    model = build(StructuredClustering, 3, structure="chain", kernel=kernel, approximation=approximation, **QUICK)
    try:
        quietly(model, samples, sample_weight=np.arange(len(X)) % 3)
    except ValueError:
        pytest.skip(f"{kernel} knows no {approximation}")
    check_round_trip(model, new, path)


@pytest.mark.parametrize("kernel", [one for one in kernel_names() if kernel_class(one).accepts_sparse])
def test_sparse_samples_survive(kernel, path):
    if kernel_class(kernel).pairwise:
        pytest.skip("samples are similarities")
    table = sparse.random(40, 12, density=0.3, random_state=1, format="csr", dtype=np.float32)
    check_round_trip(quietly(KernelKMeans(3, kernel=kernel, random_state=0), table), table[::7], path)


@pytest.mark.parametrize("name", structure_names())
def test_every_structure_survives_by_value_and_in_a_fit(name, path):
    structure = structure_class(name).example(6)
    model = quietly(
        build(StructuredClustering, structure=structure, kernel="rbf", objective=Dependence(loss="structure"), **QUICK),
        X,
    )
    check_round_trip(model, NEW, path)
    assert load(path).structure_ == structure
    assert load(path).structure == structure


@pytest.mark.parametrize("method", method_names())
def test_every_way_to_weigh_kernels_survives(method, path):
    views = [X[:, :2], sparse.csr_array(X[:, 2:])]
    model = quietly(MultiKernelClustering(3, method=method, random_state=0), views)
    check_round_trip(model, [NEW[:, :2], sparse.csr_array(NEW[:, 2:])], path)


@pytest.mark.parametrize("loss", loss_names())
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_every_margin_survives(loss, kernel, path):
    check_round_trip(quietly(MaxMarginClustering(2, loss=loss, kernel=kernel, random_state=0), X), NEW, path)


def test_a_networkx_graph_is_kept_as_its_structure(path):
    networkx = pytest.importorskip("networkx")
    model = quietly(build(StructuredClustering, structure=networkx.path_graph(4), kernel="rbf", **QUICK), X)
    model.save(path)
    again = load(path)
    assert again.structure == again.structure_ == model.structure_
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))
    np.testing.assert_array_equal(again.position(NEW), model.position(NEW))
    np.testing.assert_array_equal(again.pseudotime(root=3), model.pseudotime(root=3))
    np.testing.assert_array_equal(quietly(again, X).labels_, model.labels_)


def test_names_of_columns_and_set_output_survive(path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=["rain", "wind", "sun", "=x"])
    model = quietly(KernelKMeans(3, random_state=0), table).set_output(transform="pandas")
    check_round_trip(model, table[:5], path)
    again = load(path)
    assert again.feature_names_in_.dtype == object
    assert isinstance(again.transform(table), pandas.DataFrame)
    with pytest.raises(ValueError, match="feature names"):
        again.predict(table[["wind", "rain", "sun", "=x"]])


def test_a_stream_goes_on_after_loading(path):
    model = KernelKMeans(3, random_state=np.random.RandomState(3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.partial_fit(X)
        model.save(path)
        again = load(path)
        for batch in (X + 0.1, X - 0.1):
            assert bits(again.partial_fit(batch).labels_) == bits(model.partial_fit(batch).labels_)
    assert again.diagnostics_.n_samples_seen == model.diagnostics_.n_samples_seen == 3 * len(X)


def test_awkward_parameters_survive(path):
    init = np.repeat([0, 1, 2], 12)
    model = KernelKMeans(
        np.int64(3), kernel=RBF(gamma=np.float32(0.3)), init=init, max_cluster_size=(np.inf, 20, 20.5), n_init=1
    )
    check_round_trip(quietly(model, X), NEW, path)
    again = load(path)
    assert type(again.kernel.gamma) is np.float32
    assert again.max_cluster_size == (np.inf, 20, 20.5)


def test_evidence_about_the_order_survives(path):
    model = quietly(StructuredClustering(structure="chain:3", kernel="rbf", random_state=0), X)
    assert np.isfinite(model.order_confidence_)
    check_round_trip(model, NEW, path)


def test_what_is_one_object_stays_one(path):
    quietly(KernelKMeans(3, kernel="rbf", random_state=0), X).save(path)
    again = load(path)
    assert again._places.prediction is again._prediction
    assert again._prediction.judge is again._prediction.similarities


def test_joblib_keeps_working(path):
    model = quietly(build(StructuredClustering, 4, structure="ring", **QUICK), X)
    joblib.dump(model, path)
    assert answers(joblib.load(path), NEW) == answers(model, NEW)


def test_skops_keeps_working():
    skops = pytest.importorskip("skops.io", reason="skops is not installed, so models in its files are NOT tested")
    model = quietly(build(StructuredClustering, 4, structure="ring", **QUICK), X)
    stored = skops.dumps(model)
    again = skops.loads(stored, trusted=skops.get_untrusted_types(data=stored))
    assert bits(again.predict(NEW)) == bits(model.predict(NEW))


# -- beside the model --------------------------------------------------------------------------------------------------


def test_extra_comes_back(path):
    extra = {"columns": ["rain", "wind"], "scale": [0.1, 1e-300], "nested": {"none": None, "yes": True}}
    quietly(KernelKMeans(2, random_state=0), X).save(path, extra=extra)
    assert load_extra(path) == extra
    quietly(KernelKMeans(2, random_state=0), X).save(path)
    assert load_extra(path) == {}


@pytest.mark.parametrize("extra", [{"a": (1, 2)}, {1: "a"}, {"a": np.ones(2)}, {"a": np.nan}, [1], {"a": {1, 2}}])
def test_extra_that_json_would_change_is_refused(extra, path):
    with pytest.raises(ValueError, match="extra"):
        quietly(KernelKMeans(2, random_state=0), X).save(path, extra=extra)
    assert not path.exists()


# -- what cannot be saved ----------------------------------------------------------------------------------------------


def my_kernel(A, B):
    return A @ B.T


class MyLoss(Loss):
    def phi(self, n):
        return n * n

    def affine(self, own, given, n):
        return (own + given) / n**2, 2 / n**2 + 0 * own


def test_an_unfitted_model_is_refused(path):
    with pytest.raises(NotFittedError):
        KernelKMeans(2).save(path)


def test_functions_are_refused_with_what_to_do(path):
    model = quietly(KernelKMeans(2, kernel=my_kernel, random_state=0), X)
    with pytest.raises(ValueError, match=r"KernelKMeans\.kernel is a function \(my_kernel\).*precomputed.*joblib"):
        model.save(path)
    assert os.listdir(path.parent) == []


def test_foreign_objects_are_refused_by_name(path):
    model = quietly(MaxMarginClustering(2, loss=MyLoss(), random_state=0), X)
    with pytest.raises(ValueError, match=r"MaxMarginClustering\.loss is of class .*MyLoss"):
        model.save(path)


def test_lazy_labels_are_refused_until_they_are_computed(path):
    dask = pytest.importorskip("dask.array")
    model = quietly(KernelKMeans(2, kernel="linear", random_state=0), dask.from_array(X, chunks=(12, 4)))
    with pytest.raises(ValueError, match=r"KernelKMeans\.labels_ is lazy .*Set labels_ to its compute\(\) first"):
        model.save(path)
    model.labels_ = model.labels_.compute()
    check_round_trip(model, NEW, path)


def test_a_failed_save_leaves_the_old_file(path):
    quietly(KernelKMeans(2, random_state=0), X).save(path)
    before = path.read_bytes()
    with pytest.raises(ValueError):
        quietly(KernelKMeans(2, kernel=my_kernel, random_state=0), X).save(path)
    assert path.read_bytes() == before


# -- hostile files -----------------------------------------------------------------------------------------------------


@pytest.fixture
def members(path):
    """Members of a good file, to be spoiled."""
    quietly(StructuredClustering(3, structure="chain", kernel="rbf", random_state=0), X).save(path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, members, **options):
    with zipfile.ZipFile(path, "w", **options) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that come twice
        for name, content in members.items() if isinstance(members, dict) else members:
            archive.writestr(name, content)


def contents(members):
    return json.loads(members["model.json"])


def with_contents(members, changed):
    return members | {"model.json": json.dumps(changed)}


def npy(array, **more):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, **more)
    return stream.getvalue()


def refused(path, match):
    with pytest.raises(ValueError, match=match) as caught:
        load(path)
    assert path.name in str(caught.value)


def test_members_written_again_load(members, path):
    write(path, members)
    assert load(path).predict(NEW).shape == (len(NEW),)


def test_other_files_are_refused(members, path):
    path.write_bytes(b"")
    refused(path, "not a model file")
    path.write_bytes(pickle.dumps({"a": 1}))
    refused(path, "not a model file")
    write(path, {"word/document.xml": "<a/>"})
    refused(path, r"not a model.*model\.json")
    np.savez(path.with_suffix(".npz"), a=X)
    refused(path.with_suffix(".npz"), r"not a model.*model\.json")
    with pytest.raises(FileNotFoundError):
        load(path.with_name("absent"))


def test_truncated_and_damaged_files_are_refused(members, path):
    write(path, members)
    whole = path.read_bytes()
    for share in (0.1, 0.5, 0.9, 0.999):
        path.write_bytes(whole[: int(share * len(whole))])
        refused(path, "not a model file")
    spoiled = bytearray(whole)
    spoiled[whole.index(b"\x93NUMPY") + 130] ^= 1  # a number of the first array
    path.write_bytes(spoiled)
    refused(path, "Bad CRC.*arrays/0")


@pytest.mark.parametrize("name", ["../evil", "/etc/passwd", "arrays/../../x.npy", "arrays/99.npy", "C:\\x", "run.pkl"])
def test_strange_members_are_refused_by_name(name, members, path):
    write(path, members | {name: b"x"})
    refused(path, "member " + repr(name).replace("\\", "\\\\").replace(".", r"\."))
    assert os.listdir(path.parent) == [path.name]


def test_members_twice_are_refused(members, path):
    write(path, [*members.items(), ("model.json", members["model.json"])])
    refused(path, "twice")


def test_bombs_are_refused_before_they_are_read(members, path):
    write(path, members | {"arrays/0.npy": bytes(10**7)}, compression=zipfile.ZIP_DEFLATED)
    refused(path, "compressed")
    write(path, members)
    whole = bytearray(path.read_bytes())
    entry = whole.rindex(b"PK\x01\x02", 0, whole.rindex(b"arrays/1.npy"))  # of the directory at the end
    whole[entry + 20 : entry + 28] = (2**31).to_bytes(4, "little") * 2  # both sizes
    path.write_bytes(whole)
    refused(path, "larger than the file|not a model file")


def test_members_before_the_beginning_of_the_file_are_refused(members, path):
    write(path, members)
    whole = bytearray(path.read_bytes())
    end = whole.rindex(b"PK\x05\x06")  # holds the offset of the directory, which is now too small by as many bytes
    at = int.from_bytes(whole[end + 16 : end + 20], "little")
    whole[end + 16 : end + 20] = (at + 5000).to_bytes(4, "little")
    path.write_bytes(whole)
    refused(path, "outside the file|not a model file")


def test_huge_headers_are_refused_without_memory(members, path):
    header = {"descr": "<f8", "fortran_order": False, "shape": (2**40,)}
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, header)
    changed = contents(members)
    place = next(one for one in changed["objects"] if one.get("array") == 0)
    place["shape"], place["dtype"] = [2**40], "<f8"
    write(path, with_contents(members, changed) | {"arrays/0.npy": stream.getvalue()})
    refused(path, r"arrays/0\.npy")
    stream = io.BytesIO()
    np.lib.format.write_array_header_2_0(stream, header | {"descr": [("a" * 60000, "<f8")]})
    write(path, members | {"arrays/0.npy": stream.getvalue()})
    refused(path, "cannot be loaded: .{15}|not a model file")


def test_arrays_other_than_said_are_refused_by_name(members, path):
    for wrong in (
        np.ones(1),
        np.ones(3, dtype="<i8"),
        np.ones((3, 3), np.float32),
        np.ones((3, 3), dtype="<i8")[:, :2],
    ):
        write(path, members | {"arrays/0.npy": npy(wrong)})
        refused(path, r"'arrays/0\.npy' has shape")
    write(path, members | {"arrays/0.npy": members["arrays/0.npy"] + b"more"})
    refused(path, r"'arrays/0\.npy' has shape .* but 28 bytes")


class Evil:
    def __reduce__(self):
        return os.mkdir, ("evil-was-here",)


def test_pickles_in_arrays_are_never_run(members, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    evil = npy(np.array([Evil()], dtype=object), allow_pickle=True)
    changed = contents(members)
    place = next(one for one in changed["objects"] if one.get("array") == 0)
    for kind in (place["dtype"], "|O"):
        place["shape"], place["dtype"] = [1], kind
        write(path, with_contents(members, changed) | {"arrays/0.npy": evil})
        refused(path, "cannot be loaded: .{15}|not a model file")
    assert not os.path.exists("evil-was-here")


CLASSES = [
    "os.system",
    "builtins.eval",
    "kernelclust.__main__.main",
    "kernelclust.cli.main",
    "kernelclust.kernels.rbf._mend",
    "kernelclust.structures.chain.np",
    "kernelclust.structures.absent.Chain",
    "kernelclust.structures.chain.Chain.__init__",
    "kernelclust.structures._base.Axis ",
    "sklearn.cluster._kmeans.KMeans",
    "kernelclust.estimators._base.whole_or_nothing",
]


@pytest.mark.parametrize("name", CLASSES)
def test_unknown_classes_are_refused_by_name(name, members, path):
    changed = contents(members)
    next(one for one in changed["objects"] if one.get("class", "").endswith("Chain"))["class"] = name
    write(path, with_contents(members, changed))
    refused(path, name.replace(".", r"\."))


def test_other_formats_say_who_saved_them(members, path):
    write(path, with_contents(members, contents(members) | {"format": 7, "kernelclust": "9.1"}))
    refused(path, r"saved by kernelclust 9\.1 in format 7; this is kernelclust .* reads format 1\. Load it with")
    with pytest.raises(ValueError, match="format 7"):
        load_extra(path)


def test_parts_of_another_version_are_refused_with_the_version(members, path):
    changed = contents(members) | {"kernelclust": "0.9"}
    part = next(one for one in changed["objects"] if one.get("class", "").endswith("Prediction"))
    part["parts"]["temperature"] = 1.0
    write(path, with_contents(members, changed))
    refused(path, r"temperature.*saved by kernelclust 0\.9; this is")


@pytest.mark.parametrize("shape", [[10**6], [10**9], [1000, 1000, 1000], [[1000, [1000, 1000]]], [10**4000] * 9])
def test_structures_of_more_clusters_than_can_be_are_refused(shape, members, path):
    changed = contents(members)
    chain = next(one for one in changed["objects"] if one.get("class", "").endswith("Chain"))
    chain["class"], chain["parts"]["arguments"] = "kernelclust.structures.tree.Tree", shape
    write(path, with_contents(members, changed))
    refused(path, "Tree of more than 32768 clusters")


def test_structures_that_load_would_refuse_are_not_saved(path, monkeypatch):
    model = StructuredClustering(structure="chain:5", kernel="rbf", random_state=0).fit(np.arange(20.0)[:, None])
    monkeypatch.setattr(_model_files, "MAX_CLUSTERS", 4)
    with pytest.raises(ValueError, match="Chain of more than 4 clusters"):
        model.save(path)
    assert not path.exists()


def test_forged_files_are_refused_within_a_second_and_100_mb(members, path):
    """Trees of a million leaves, of one list over and over, contents of millions of values, and files without end."""
    objects = [{"class": "kernelclust.solvers._loops.Loss", "parts": {"T": "a", "penalty": "b"}}]
    for number in range(60):
        again = {"object": number}
        objects.append({"class": "kernelclust.solvers._loops.Loss", "parts": {"T": again, "penalty": again}})
    tree = {"class": "kernelclust.structures.tree.Tree", "parts": {"arguments": [{"object": 60}]}}
    names = tree | {"parts": {"arguments": [[str(name) for name in range(10**6)]]}}
    forged = [contents(members) | {"objects": [*objects, tree]}, contents(members) | {"objects": [names]}]
    texts = [*map(json.dumps, forged), "[" + "[]," * 5 * 10**6 + "[]]", '"' + "a" * 2**25 + '"']
    for text in texts:
        write(path, members | {"model.json": text})
        tracemalloc.start()
        began = time.process_time()
        refused(path, "Loss|more than")
        assert time.process_time() - began < 1
        assert tracemalloc.get_traced_memory()[1] < 100e6
        tracemalloc.stop()
    if os.path.exists("/dev/zero"):
        with pytest.raises(ValueError, match="not a regular file"):
            load("/dev/zero")


def test_the_largest_tree_that_is_accepted_is_made_within_seconds():
    began = time.process_time()
    assert Tree(2**15).n_clusters == 2**15
    assert time.process_time() - began < 3


def model_of(changed):
    return changed["objects"][changed["model"]["object"]]["parts"]


@pytest.mark.parametrize("name", ["predict", "__class__", "_n_features_out", "gadget", "fit"])
def test_attributes_that_no_fit_leaves_are_refused(name, members, path):
    changed = contents(members)
    model_of(changed)[name] = 1
    write(path, with_contents(members, changed))
    refused(path, name)


@pytest.mark.parametrize("name", ["labels_", "sizes_", "medoids_", "position_", "_asked", "structure_", "_placing"])
def test_attributes_that_contradict_each_other_are_refused(name, members, path):
    changed = contents(members)
    changed["objects"].insert(0, {"array": len(members) - 1, "dtype": "<i8", "shape": [5]})
    for node in walk(changed["objects"][1:] + [changed["model"]]):
        node["object"] += 1
    model_of(changed)[name] = {"object": 0}
    write(path, with_contents(members, changed) | {f"arrays/{len(members) - 1}.npy": npy(np.arange(5))})
    refused(path, "cannot be loaded: .{15}|not a model file")


@pytest.mark.parametrize("value", [0.5, None, [], "rbf", {"float": "nan"}, {"tuple": [0]}])
def test_what_would_fail_on_use_is_refused_when_it_is_loaded(value, members, path):
    """Parts of parts that are not what they should be: raw errors of `predict`, once."""
    n_loaded = 0
    for at, described in enumerate(contents(members)["objects"]):
        for part in described.get("parts", ()):
            changed = contents(members)
            changed["objects"][at]["parts"][part] = value
            write(path, with_contents(members, changed))
            try:
                model = load(path)
            except ValueError as error:
                assert path.name in str(error)
                continue
            n_loaded += 1
            for method in (model.predict, model.transform, model.position, model.score):
                method(X)
    assert n_loaded > 0  # parts that no answer depends on


def walk(node):
    """All references to objects."""
    if isinstance(node, dict) and set(node) == {"object"}:
        yield node
    elif isinstance(node, (dict, list)):
        for one in node.values() if isinstance(node, dict) else node:
            yield from walk(one)


@pytest.mark.parametrize("text", ["", "[]", "{}", "{" * 5000, "[" * 100000, '{"format": 1}', '{"format": "1"}', "\x00"])
def test_contents_that_are_no_contents_are_refused(text, members, path):
    write(path, members | {"model.json": text})
    refused(path, "cannot be loaded: .{15}|not a model file")


@pytest.mark.parametrize("bad", [{"object": 10**9}, {"object": -1}, {"code": "1"}, {"float": "1/0"}, {"type": "O"}, 3])
def test_values_that_no_model_has_are_refused(bad, members, path):
    changed = contents(members)
    changed["model"] = bad
    write(path, with_contents(members, changed))
    refused(path, "cannot be loaded: .{15}|not a model file")


def test_sparse_matrices_whose_indices_lead_outside_are_refused(path):
    table = sparse.csr_array(np.eye(12)[np.arange(36) % 12])
    quietly(KernelKMeans(3, kernel="rbf", random_state=0), table).save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    changed = contents(members)
    matrix = next(one for one in changed["objects"] if "sparse" in one)
    at = changed["objects"][matrix["indices"]["object"]]
    wrong = np.full(at["shape"], 10**6, dtype=at["dtype"])
    write(path, members | {f"arrays/{at['array']}.npy": npy(wrong)})
    refused(path, "cannot be loaded: .{15}|not a model file")
