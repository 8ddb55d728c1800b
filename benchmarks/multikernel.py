"""Speed of MultiKernelClustering, beside the peers that are installed.

    python benchmarks/multikernel.py [--threads 1] [--repeats 3] [--large]

Kernels are Gaussian, of median width, on views of the same made-up clusters. CPU seconds of this process, the least of
some runs after a warm-up. Peers (PyPI `mkkm-mr`, `mvlearn`) are measured where they can be imported, and left out
elsewhere: neither installs beside a current numpy, so run the script once more in an environment of theirs.
--large: 100 000 samples, 5 views, with peak memory.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import time

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh
from threadpoolctl import threadpool_limits

if importlib.util.find_spec("kernelclust"):
    import kernelclust.estimators  # noqa: F401 (threads are limited for the libraries that are loaded by then)

CLUSTERS = 10


def make_views(n: int, number: int, seed: int = 0, dimensions: int = 20) -> tuple[list[np.ndarray], np.ndarray]:
    """Views of ten clusters that overlap, each in its own way."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(CLUSTERS, size=n)
    spread = np.linspace(0.8, 1.6, number)
    return [
        rng.standard_normal((CLUSTERS, dimensions))[labels] + size * rng.standard_normal((n, dimensions))
        for size in spread
    ], labels


def gaussian(X: np.ndarray) -> np.ndarray:
    norms = (X**2).sum(axis=1)
    D = np.maximum(norms[:, None] + norms - 2 * X @ X.T, 0)
    return np.exp(-D / (2 * np.median(D[np.triu_indices(len(X), 1)])))


def prepared(K: np.ndarray) -> np.ndarray:
    K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    return K / np.sqrt(np.outer(np.diag(K), np.diag(K)))


def seconds(job, repeats: int = 1) -> float:
    job()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        job()
        times.append(time.process_time() - start)
    return min(times)


def ours(n: int, number: int, repeats: int) -> None:
    try:
        from kernelclust import MultiKernelClustering
        from kernelclust.multikernel import MKKMMR, Average
    except ImportError:
        return
    stack = np.stack([gaussian(X) for X in make_views(n, number)[0]])
    mean = sum(prepared(K) for K in stack) / number

    def fit(**options):
        return MultiKernelClustering(CLUSTERS, kernel="precomputed", random_state=0, **options).fit(stack)

    show(
        n, number, "scipy eigsh, 10 eigenvectors of the mean kernel", seconds(lambda: eigsh(mean, k=CLUSTERS), repeats)
    )
    top = [n - CLUSTERS, n - 1]
    show(n, number, "scipy eigh, the same", seconds(lambda: eigh(mean, subset_by_index=top)))
    for refine in (False, True):
        plain = seconds(lambda r=refine: fit(method=Average(refine=r)), repeats)
        show(n, number, f"average, refine={refine}", plain)
        weighed = seconds(lambda r=refine: fit(method=MKKMMR(lam=0.01, refine=r)), repeats)
        show(n, number, f"mkkm-mr, lam=0.01, refine={refine}", weighed)
    show(n, number, "mkkm-mr, lam='auto' (four of them), refine=True", seconds(fit, repeats))


def peers(n: int, number: int) -> None:
    views = make_views(n, number)[0]
    try:
        from mkkm_mr import mkkm_mr
    except ImportError:
        pass
    else:
        K = np.stack([prepared(gaussian(X)) for X in views])

        def fit():
            M = np.einsum("pij,qij->pq", K, K, optimize=True)
            mkkm_mr(K, M, CLUSTERS, 1.0)

        show(n, number, "peer: mkkm-mr, lam=1 (no labels)", seconds(fit))
    try:
        from mvlearn.cluster import MultiviewCoRegSpectralClustering
    except ImportError:
        return
    model = MultiviewCoRegSpectralClustering(n_clusters=CLUSTERS, random_state=0)
    start = time.process_time()
    model.fit_predict(views)
    show(n, number, "peer: mvlearn co-regularised spectral", time.process_time() - start)


def large(n: int = 100_000, number: int = 5) -> None:
    from sklearn.metrics import adjusted_rand_score

    from kernelclust import MultiKernelClustering
    from kernelclust.kernels import Nystroem
    from kernelclust.multikernel import MKKMMR

    views, labels = make_views(n, number)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    for lam in (0.001, "auto"):
        model = MultiKernelClustering(
            CLUSTERS, method=MKKMMR(lam=lam, n_init=2), approximation=Nystroem(100), random_state=0
        )
        start = time.process_time()
        model.fit(views)
        spent = time.process_time() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        score = adjusted_rand_score(labels, model.labels_)
        what = f"mkkm-mr, lam={lam!r}, rank 100, ARI {score:.3f}, peak {peak:.0f} MB ({before:.0f} before)"
        show(n, number, what, spent)


def show(n: int, number: int, what: str, value: float) -> None:
    print(f"n={n} kernels={number}  {value:8.3f} s  {what}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    with threadpool_limits(limits=options.threads):
        if options.large:
            return large()
        for n, number in ((2000, 3), (1000, 6)):
            ours(n, number, options.repeats)
            peers(n, number)


if __name__ == "__main__":
    main()
