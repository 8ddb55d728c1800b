"""Commands of the program: a file each, found by its name.

A command has a docstring, whose first sentence is its help, `OPTIONS`, what it takes by name (`kernelclust.cli.options`
has those that several commands share), and `run(arguments)`. The file is imported for --help: what takes long to import
(NumPy, the library) is imported in `run`.
"""
