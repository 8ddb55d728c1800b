"""The rival methods of paper 004, a file each: `MultiKernelClustering(method="reproduction.multikernel.rmsc")`."""
