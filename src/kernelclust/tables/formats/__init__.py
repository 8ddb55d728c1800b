"""File formats, one module each, named by the usual suffix of the files.

A module has `SUFFIXES` (endings of file names), `BEGINS` (first bytes of its files; empty for formats of text),
`NEEDS` (libraries that read it, of the extra "cli") and

    read(file, source, *, texts, ...) -> Table

where `file` are the decompressed bytes, `source` names the file in messages, `texts` are columns to be read as texts
(`named`), and further keywords are options of the command line that the format takes. A file that cannot be read
raises a ValueError that names `source`. Heavy libraries are imported inside `read`.
"""
