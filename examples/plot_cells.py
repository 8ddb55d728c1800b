"""
Single cells: from counts to ordered stages
===========================================

Cells of a differentiating tissue are caught at all stages at once. Clusters alone come out in any order; on a *chain*
they are numbered as the cells develop, every cell has a pseudotime, and the fit says how sure the order is.
Everything lands in the AnnData, where scanpy's own pictures find it.
"""

# %%
# Counts of 60 genes in 600 cells, made here: a gene is switched on around some time of its own and off again, and what
# is sequenced of a cell varies by a factor of three. The true time is kept aside.
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
# The usual preparation.
sc.pp.normalize_total(adata)
sc.pp.log1p(adata)
sc.pp.pca(adata, n_comps=15)
sc.pp.neighbors(adata)
sc.tl.umap(adata)

# %%
# Six stages on a chain, from the principal components. One cell that is known to be early tells the ends of the chain
# apart. With ``neighbors_key="neighbors"`` the graph that scanpy has just computed would be used instead.
early = int(time.argmin())
structured(adata, "chain:6", root=early, random_state=0)
evidence = adata.uns["kernelclust"]["evidence"]
print(f"how likely the order is right: {evidence['order_confidence']:.2f}")
rank = adata.obs["kernelclust_pseudotime"].corr(adata.obs["true time"], "spearman")
print(f"rank correlation of pseudotime with the true time: {rank:.3f}")

# %%
# Stages, the pseudotime of every cell, and the truth.
sc.pl.umap(
    adata, color=["kernelclust", "kernelclust_pseudotime", "true time"], legend_loc="on data", legend_fontoutline=2
)

# %%
# Stages are ordered categories, so that a heat map shows genes switched on one after the other.
sc.pl.heatmap(adata, list(adata.var_names[::3]), groupby="kernelclust", swap_axes=True, figsize=(7, 5))

# %%
# Groups that exist already, here by k-means, are numbered along the chain without moving a cell.
adata.obs["groups"] = KMeans(6, random_state=0).fit_predict(adata.obsm["X_pca"]).astype(str)
print("mean time by number, before:", adata.obs.groupby("groups")["true time"].mean().round(2).tolist())
arrange(adata, "groups", "chain", root=early)
print("and after:", adata.obs.groupby("groups", observed=True)["true time"].mean().round(2).tolist())
# sphinx_gallery_thumbnail_number = 2
