"""Small problems are solved faster by one thread than by several that wait for each other."""

from threadpoolctl import threadpool_limits

threadpool_limits(limits=1, user_api="blas")
