"""What it costs to mistake one labeling for another: a file each, known by its name.

A loss looks at the table N (k x k) of two labelings of n samples, rows y', columns y. For sums of one convex function
over the cells and over the sizes of the clusters,

    joint = sum_ij phi(N_ij),   own = sum_i phi(n'_i),   given = sum_j phi(n_j),

it is   Delta(y', y) = base(own, given) - rate(own, given) joint,   rate >= 0.

With the sizes fixed, Delta is then concave in the table: this is what makes the exact search for the most violated
labeling fast, and the only thing that it needs. So a loss is any object (a file here, or your own) with

    PARAMETERS                                           names of its parameters: () or ("beta",)
    phi(counts)                                          array of counts -> array; weights make real numbers of them
    affine(own, given, n, **parameters) -> (base, rate)  arrays of the shape of own

and, where they hold, SYMMETRIC = False: Delta(y', y) is not Delta(y, y'); ONLY_DIAGONAL = True: names of clusters
matter, joint is summed over the cells (i, i) only, and phi may only be a multiple of its argument.
"""
