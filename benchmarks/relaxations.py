"""The table of the relaxations paper (Yang, Kwok and Lu 2010, table 1) on stand-ins: solvers of CLUHSIC side by side.

    python benchmarks/relaxations.py [--seeds 20] [--sets chain,coil,face]

Structured accuracy % / NMI % / structured loss, means over seeds, and seconds a fit. Images are standardised pixel by
pixel and compared by a Gaussian kernel with gamma = 1 / number of pixels, as in the paper. A seed draws the order of
the samples (and the noise of "face") and starts the solver. Chain: 5 x 20 turned photographs. Coil: 4 photographs x 3
groups of 8 turns (a tree of chains). Face: 3 x 3 groups of 20 in 400 dimensions.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler

from kernelclust import StructuredClustering
from kernelclust.datasets import rotated_images
from kernelclust.kernels import RBF
from kernelclust.metrics import structured_accuracy, structured_loss
from kernelclust.objectives import Dependence
from kernelclust.solvers import NMF, Greedy, LowRankSDP, Solver, Spectral
from kernelclust.structures import Custom, Product, Tree


def chain(seed: int) -> tuple[np.ndarray, np.ndarray, str]:
    turned = rotated_images(5, per_cluster=20, skip=16, closed=False, random_state=seed)
    return turned.data, turned.target, "chain:5"


def coil(seed: int) -> tuple[np.ndarray, np.ndarray, Custom]:
    photos = [load_sample_image(name).mean(axis=2) for name in ("china.jpg", "flower.jpg")]
    halves = [half for photo in photos for half in (photo[:, :320], photo[:, 320:])]
    sets = [rotated_images(9, per_cluster=8, skip=8, closed=False, photo=half, random_state=seed) for half in halves]
    X = np.vstack([turned.data[turned.target < 3] for turned in sets])  # a third of half a turn
    y = np.concatenate([3 * block + turned.target[turned.target < 3] for block, turned in enumerate(sets)])
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order], Custom(Product("flat:4", "chain:3").kernel, loss=Tree(4, 3).loss)  # the paper's loss


def face(seed: int) -> tuple[np.ndarray, np.ndarray, str]:
    rng = np.random.default_rng(seed)
    people = rng.standard_normal((3, 400))
    groups = (people[:, None] + 0.7 * rng.standard_normal((3, 3, 400))).reshape(9, 400)
    y = rng.permutation(np.repeat(np.arange(9), 20))
    return groups[y] + rng.standard_normal((180, 400)), y, "tree:3x3"


def with_solver(solver: Solver, placement: str | None = "F") -> Callable:
    def run(X: np.ndarray, structure: str, gamma: float, seed: int) -> np.ndarray:
        objective = Dependence(rho=0, placement=placement)
        return StructuredClustering(
            structure=structure, kernel=RBF(gamma=gamma), objective=objective, solver=solver, random_state=seed
        ).fit_predict(X)

    return run


def ours(X: np.ndarray, structure: str, gamma: float, seed: int) -> np.ndarray:
    return StructuredClustering(structure=structure, kernel=RBF(gamma=gamma), random_state=seed).fit_predict(X)


METHODS: dict[str, Callable] = {
    "greedy": with_solver(Greedy(search="global", init="random", n_init=1), placement=None),  # Algorithm 1 of CLUHSIC
    "NMF": with_solver(NMF(polish=False)),
    "SDPLR": with_solver(LowRankSDP(polish=False)),
    "spectral": with_solver(Spectral(polish=False)),
    "SDPLR + polish": with_solver(LowRankSDP()),
    "CLUHSIC": with_solver("greedy"),
    "default": ours,
}
SETS = {"chain": chain, "coil": coil, "face": face}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--methods", default=",".join(METHODS))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in arguments.sets.split(","):
        print(f"{name}: structured accuracy / NMI / structured loss, seconds a fit, seeds with 100 %", flush=True)
        for method in arguments.methods.split(","):
            print(row(name, method, arguments.seeds), flush=True)


def row(name: str, method: str, seeds: int) -> str:
    scores, seconds = [], []
    for seed in range(seeds):
        X, y, structure = SETS[name](seed)
        X = StandardScaler().fit_transform(X[:, X.std(axis=0) > 0])
        start = time.perf_counter()
        labels = METHODS[method](X, structure, 1 / X.shape[1], seed)
        seconds.append(time.perf_counter() - start)
        accuracy, loss = structured_accuracy(y, labels, structure), structured_loss(y, labels, structure)
        scores.append((accuracy, normalized_mutual_info_score(y, labels, average_method="geometric"), loss))
    accuracy, information, loss = np.mean(scores, axis=0)
    whole = sum(score[0] == 1 for score in scores)
    numbers = f"{100 * accuracy:6.1f} /{100 * information:6.1f} / {loss:.2f}"
    return f"  {method:16} {numbers}   {np.median(seconds):7.3f} s   {whole} of {seeds}"


if __name__ == "__main__":
    main()
