"""
Single cells: from counts to ordered stages
===========================================

A sample of a differentiating tissue has cells at all stages. Ordinary clusters have no order; on a *chain* they are
numbered along the development, every cell has a pseudotime, and the fit estimates how certain the order is. All results
are stored in the AnnData, where scanpy's plots find them.
"""

# %%
# Simulated counts of 60 genes in 600 cells: each gene is expressed around a time of its own, and the sequencing depth
# of cells varies by a factor of three. The true time is used for comparison only.
import anndata as ad
import numpy as np
import scanpy as sc
from sklearn.cluster import KMeans

from kernelclust.anndata import arrange, structured

rng = np.random.default_rng(0)
time = rng.random(600)
peak, depth = np.linspace(-0.2, 1.2, 60), rng.uniform(0.5, 1.5, (600, 1))
counts = rng.poisson(depth * (0.3 + 6 * np.exp(-((time[:, None] - peak) ** 2) / 0.02)))
adata = ad.AnnData(counts.astype(np.float32))
adata.var_names = [f"gene {i}" for i in range(60)]
adata.obs["true time"] = time

# %%
# The usual preprocessing.
sc.pp.normalize_total(adata)
sc.pp.log1p(adata)
sc.pp.pca(adata, n_comps=15)
sc.pp.neighbors(adata)
sc.tl.umap(adata)

# %%
# Six stages on a chain, from the principal components. One cell that is known to be early determines the direction of
# the chain. With ``neighbors_key="neighbors"`` the graph that scanpy has computed is used instead.
early = int(time.argmin())
structured(adata, "chain:6", root=early, random_state=0)
evidence = adata.uns["kernelclust"]["evidence"]
print(f"estimated probability that the order is correct: {evidence['order_confidence']:.2f}")
rank = adata.obs["kernelclust_pseudotime"].corr(adata.obs["true time"], "spearman")
print(f"rank correlation of pseudotime with the true time: {rank:.3f}")

# %%
# Stages, the pseudotime of every cell, and the truth.
sc.pl.umap(
    adata, color=["kernelclust", "kernelclust_pseudotime", "true time"], legend_loc="on data", legend_fontoutline=2
)

# %%
# Stages are ordered categories, so a heat map shows the genes in the order of their expression.
sc.pl.heatmap(adata, list(adata.var_names[::3]), groupby="kernelclust", swap_axes=True, figsize=(7, 5))

# %%
# Existing groups, here from k-means, are numbered along the chain; no cell changes its group.
adata.obs["groups"] = KMeans(6, random_state=0).fit_predict(adata.obsm["X_pca"]).astype(str)
print("mean time by number, before:", adata.obs.groupby("groups")["true time"].mean().round(2).tolist())
arrange(adata, "groups", "chain", root=early)
print("and after:", adata.obs.groupby("groups", observed=True)["true time"].mean().round(2).tolist())
# sphinx_gallery_thumbnail_number = 2
