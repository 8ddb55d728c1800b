"""A log of timings over commits: `make asv` runs this commit, `asv run v0.1.0..main` many, `asv publish` draws them."""
