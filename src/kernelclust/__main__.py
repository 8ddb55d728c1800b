"""Run the command line as ``python -m kernelclust``."""

from kernelclust.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
