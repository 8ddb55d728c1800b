"""Time of a fit by kernel and size, of the other estimators, and of `predict`; everything was compiled before."""

import warnings

from kernelclust import MaxMarginClustering, MultiKernelClustering, StructuredClustering
from kernelclust.datasets import structured_blobs

STRUCTURE, SEED = "ring:6", 0


def samples(n: int):
    return structured_blobs(STRUCTURE, n_samples=n, random_state=SEED).data


def fitted(model, X):
    with warnings.catch_warnings():  # about the order, which is not measured here
        warnings.simplefilter("ignore")
        return model.fit(X)


class Fit:
    params = (["auto", "rbf", "linear", "graph"], [300, 3000])
    param_names = ["kernel", "n_samples"]
    timeout = 300

    def setup(self, kernel, n_samples):
        self.X = samples(n_samples)
        self.model = StructuredClustering(structure=STRUCTURE, kernel=kernel, random_state=SEED)
        fitted(self.model, self.X)

    def time_fit(self, kernel, n_samples):
        fitted(self.model, self.X)

    def peakmem_fit(self, kernel, n_samples):
        fitted(self.model, self.X)


class Predict:
    params = (["auto", "rbf", "linear"], [3000])
    param_names = ["kernel", "n_samples"]

    def setup(self, kernel, n_samples):
        self.X = samples(n_samples)
        model = StructuredClustering(structure=STRUCTURE, kernel=kernel, random_state=SEED)
        self.model = fitted(model, self.X[: n_samples // 2])
        self.model.predict(self.X)

    def time_predict(self, kernel, n_samples):
        self.model.predict(self.X)


class OtherEstimators:
    params = [300, 1000]
    param_names = ["n_samples"]
    timeout = 300

    def setup(self, n_samples):
        self.X = samples(n_samples)
        self.views = [self.X, self.X**2]
        self.margin = fitted(MaxMarginClustering(2, random_state=SEED), self.X)
        self.multikernel = fitted(MultiKernelClustering(structure=STRUCTURE, random_state=SEED), self.views)

    def time_max_margin(self, n_samples):
        fitted(self.margin, self.X)

    def time_multikernel(self, n_samples):
        fitted(self.multikernel, self.views)
