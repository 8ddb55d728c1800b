"""The rival methods of paper 004, a file each: `MultiKernelClustering(method=reproduction.multikernel.RMSC())`."""

from kernelclust._terms import exposes_terms

__getattr__, __dir__ = exposes_terms(__name__)
