"""Ways to a labeling with a large F."""
