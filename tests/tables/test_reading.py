"""Files of every kind give the same table; what was decided is said, what is wrong is told all at once."""

import csv
import gzip
import io

import numpy as np
import pytest

from kernelclust.tables import Problems, assign, prepare, read, read_links

TABLE = np.array([[1.5, 2.0], [-3.0, 0.25], [1e-3, 7.0]])


def put(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def numbers(table):
    return np.column_stack([column.values for column in table.columns])


def as_csv(delimiter=",", decimal=".", header="a{}b\n"):
    lines = [delimiter.join(repr(float(x)).replace(".", decimal) for x in row) for row in TABLE]
    return header.format(delimiter) + "\n".join(lines) + "\n"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("decimal", [".", ","])
def test_delimiter_and_decimal_sign_are_found(tmp_path, delimiter, decimal):
    if delimiter == decimal:
        return
    table = read(put(tmp_path, as_csv(delimiter, decimal)))
    assert [column.name for column in table.columns] == ["a", "b"]
    assert np.array_equal(numbers(table), TABLE)
    assert any("decimal sign" in note for note in table.notes) == (decimal == ",")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_encodings(tmp_path, encoding):
    path = put(tmp_path, "größe,b\n1,2\n".encode(encoding))
    given = {"encoding": encoding} if encoding in ("cp1252", "latin-1") else {}
    assert read(path, **given).columns[0].name == "größe"


def test_a_wrong_encoding_is_named_with_its_line(tmp_path):
    path = put(tmp_path, "a,b\n1,2\n3,\xe9\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"line 3: not UTF-8 text \(byte 0xe9\); .* --encoding cp1252"):
        read(path)
    with pytest.raises(ValueError, match="--encoding 'klingon' is not known"):
        read(path, encoding="klingon")


@pytest.mark.parametrize("pack", ["gzip", "bz2", "lzma"])
def test_packed_files(tmp_path, pack):
    packed = __import__(pack).compress(as_csv().encode())
    assert np.array_equal(numbers(read(put(tmp_path, packed, "t.any"))), TABLE)
    with pytest.raises(ValueError, match="cannot be decompressed"):
        read(put(tmp_path, packed[: len(packed) // 2], "half"))


def test_standard_input(monkeypatch):
    for content in (as_csv().encode(), gzip.compress(as_csv().encode())):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert np.array_equal(numbers(read("-")), TABLE)


def test_arrays(tmp_path):
    np.save(tmp_path / "t.npy", TABLE)
    np.savez(tmp_path / "one.npz", X=TABLE, y=np.array(["p", "q", "p"]))
    np.savez(tmp_path / "two.npz", X=TABLE, Z=TABLE + 1)
    assert np.array_equal(numbers(read(str(tmp_path / "t.npy"))), TABLE)
    one = read(str(tmp_path / "one.npz"))
    assert np.array_equal(numbers(one), TABLE)
    assert assign(one, label_column="y").labels == ["p", "q", "p"]
    with pytest.raises(ValueError, match=r"holds 2 tables among X \(3, 2\), Z \(3, 2\); name .* --key"):
        read(str(tmp_path / "two.npz"))
    assert np.array_equal(numbers(read(str(tmp_path / "two.npz"), key="Z")), TABLE + 1)
    images = np.arange(60.0).reshape(3, 4, 5)
    np.save(tmp_path / "images.npy", images)
    flat = read(str(tmp_path / "images.npy"))
    assert np.array_equal(numbers(flat), images.reshape(3, 20)) and "3 images" in flat.notes[0]
    np.save(tmp_path / "evil.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="no NPY file of numbers"):
        read(str(tmp_path / "evil.npy"))


def test_a_sparse_matrix(tmp_path):
    from scipy import sparse

    sparse.save_npz(tmp_path / "s.npz", sparse.csr_matrix(np.eye(4)))
    assert np.array_equal(read(str(tmp_path / "s.npz")).matrix.toarray(), np.eye(4))


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_arrow(tmp_path, kind):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    table = pa.table({"a": [1, None, 3], "b": ["x", "y", None], "c": [0.5, 1.5, 2.5], "d": [True, False, True]})
    path = str(tmp_path / f"t.{kind}")
    (parquet.write_table if kind == "parquet" else feather.write_feather)(table, path)
    a, b, c, d = read(path).columns
    assert np.array_equal(a.values, [1, np.nan, 3], equal_nan=True)
    assert b.as_texts() == ["x", "y", ""] and b.missing().tolist() == [False, False, True]
    assert c.values.tolist() == [0.5, 1.5, 2.5] and d.values.tolist() == [1, 0, 1]


def test_h5ad(tmp_path):
    h5py = pytest.importorskip("h5py")
    from scipy import sparse

    counts = sparse.random(5, 4, 0.5, "csr", random_state=0)
    with h5py.File(tmp_path / "t.h5ad", "w") as file:
        X = file.create_group("X")
        X.attrs["encoding-type"], X.attrs["shape"] = "csr_matrix", counts.shape
        for name in ("data", "indices", "indptr"):
            X[name] = getattr(counts, name)
        obs = file.create_group("obs")
        obs.attrs["_index"] = "_index"
        obs["_index"] = [f"cell{i}" for i in range(5)]
        obs.create_group("stage")["codes"] = np.array([0, 1, 1, -1, 0], dtype=np.int8)
        obs["stage/categories"] = ["early", "late"]
        var = file.create_group("var")
        var.attrs["_index"] = "_index"
        var["_index"] = [f"gene{j}" for j in range(4)]
        file["obsm/X_pca"] = np.arange(10.0).reshape(5, 2)
    path = str(tmp_path / "t.h5ad")
    table = read(path)
    assert np.array_equal(numbers(table), counts.toarray())
    assert table.columns[2].name == "gene2" and "obsm/X_pca" in table.notes[0]
    roles = assign(table, label_column="stage")
    assert roles.ids == [f"cell{i}" for i in range(5)] and roles.labels == ["early", "late", "late", "", "early"]
    assert numbers(read(path, key="obsm/X_pca")).tolist() == np.arange(10.0).reshape(5, 2).tolist()
    with pytest.raises(ValueError, match="--key takes X, obsm/X_pca"):
        read(path, key="obsm/X_umap")


def test_a_header_of_years_is_a_header_and_said(tmp_path):
    table = read(put(tmp_path, "country,2019,2020,2021\nA,1,2,3\nB,4,5,6\n"))
    assert [column.name for column in table.columns] == ["country", "2019", "2020", "2021"]
    assert "is read as a header" in table.notes[0]
    assert read(put(tmp_path, "2019,2020,2021\n2020,2021,2022\n2021,2022,2023\n")).n_rows == 3  # all rows are years


def test_a_first_line_is_never_lost_without_a_word(tmp_path):
    """A row is a row whatever stands below it; where the file does not show which it is, the file is refused."""
    for rows in (
        "red,1.5\n01,2.5\nblue,3.5\n",
        "p 0,1\np 1,2\n",
        "1,2\n3,4\n",
        "red,a\nblue,b\nred,a\n",
        "3 kg\n4 kg\n",
    ):
        table = read(put(tmp_path, rows))
        assert not table.has_names and table.n_rows == rows.count("\n") and not table.notes
    for rows in ("a,b\n1,2\n", "id,a\np,1\nq,2\n", "weight\n3 kg\n4 kg\n", ",a\n0,1\n1,2\n"):
        table = read(put(tmp_path, rows))
        assert table.has_names and table.n_rows == rows.count("\n") - 1 and not table.notes
    for rows in ("colour,size\nred,small\nblue,large\n", "0,1,2\n5,6,7\n", ",0,1,2\n0,5,6,7\n"):
        table = read(put(tmp_path, rows))
        assert table.has_names and "add --header no" in table.notes[0]
    doubtful = put(tmp_path, "red,1.5\n01,2.5\n02,3.5\n")
    with pytest.raises(
        ValueError, match=r"line 1: 'red' stands over numbers.*'1.5' is a number.*--header yes.*--header no"
    ):
        read(doubtful)
    assert (read(doubtful, header="yes").n_rows, read(doubtful, header="no").n_rows) == (2, 3)


def test_texts_are_kept_as_written_where_asked(tmp_path):
    (ids, _) = read(put(tmp_path, "id,x\n007,1\nNA,2\n1.0,3\n"), texts=("id",)).columns
    assert ids.as_texts() == ["007", "NA", "1.0"]


def test_a_column_that_turns_to_text_late_is_read_again(tmp_path):
    numbers, words = ["01"] * 200, ["red", "blue"] * 200
    column, _ = read(put(tmp_path, "a,b\n" + "".join(f"{cell},1\n" for cell in numbers + words))).columns
    assert column.as_texts() == numbers + words


def test_few_bad_cells_are_bad_wherever_they_stand(tmp_path):
    for cells in (["x", "y", *"12345"], [*"12345", "x", "y"], ["1"] * 400 + ["x", "2", "y", "NA"]):
        (column,) = read(put(tmp_path, "a\n" + "\n".join(cells) + "\n")).columns
        assert column.texts is None and list(column.bad_rows) == [cells.index("x"), cells.index("y")]
        assert column.bad_text == "x" and np.nansum(column.values) == sum(int(c) for c in cells if c.isdigit())


def test_points_under_a_decimal_comma_separate_thousands_or_are_refused(tmp_path):
    table = read(put(tmp_path, "a;b\n1.500;1\n2,5;2\n3,5;3\n"), decimal=",")
    assert prepare(table, table.columns[:1]).X.ravel().tolist() == [1500, 2.5, 3.5]
    (column, _) = read(put(tmp_path, "a;b\n1.50;1\n2,5;2\n3,5;3\n"), decimal=",").columns
    assert (list(column.bad_rows), column.bad_text) == ([0], "1.50")
    thousands = read(put(tmp_path, "a;b\n1,234;2\n"))
    with pytest.raises(
        Problems, match=r"'1,234' may be 1.234 or 1234, .* add --decimal , or --decimal \., or --drop a"
    ):
        prepare(thousands, thousands.columns, categories="one-hot")
    assert read(put(tmp_path, "a;b\n1,234;2\n"), decimal=",").columns[0].values == [1.234]


MESSY = """name,size,colour,when,weight
s1,1.0,red,2024-01-05,3
s2,NA,blue,2024-02-05,4
s3,2.0,red,2024-03-05,oops
s4,inf,,2024-04-05,5
"""


def test_all_problems_at_once_each_with_a_way_out(tmp_path):
    table = read(put(tmp_path, MESSY))
    with pytest.raises(Problems) as caught:
        prepare(table, assign(table).used)
    said = str(caught.value).splitlines()
    assert "6 problems:" in said[0]
    for line, what in zip(
        said[1:],
        [
            "line 2, column 'name': 's1' is text (4 different); add --categories one-hot",
            "line 5, column 'size': 'inf' is not finite; correct it",
            "line 3, column 'size': missing value; add --missing drop",
            "line 2, column 'colour': 'red' is text (2 different); add --categories one-hot",
            "line 2, column 'when': '2024-01-05' is a date; add --dates timeline to compare by time, --cyclic",
            "line 4, column 'weight': 'oops' is not a number; correct it, or leave the column out with --drop weight",
        ],
        strict=False,
    ):
        assert what in line
    assert said[-1].strip() == "To try: --drop size,when,weight --categories one-hot --missing median"
    used = assign(table, drop="size,when,weight").used  # works as printed
    assert prepare(table, used, categories="one-hot", missing="median").X.shape[0] == table.n_rows


def test_links_by_id_and_by_number(tmp_path):
    assert read_links(put(tmp_path, "a,b\nx,z\n"), ["x", "y", "z"], 3).tolist() == [[0, 2]]
    assert read_links(put(tmp_path, "0,2\n1,2\n"), None, 3).tolist() == [[0, 2], [1, 2]]
    with pytest.raises(Problems, match=r"(?s)2 problems.*line 2: there is no row 'w'.*line 3: there is no row 'v'"):
        read_links(put(tmp_path, "a,b\nx,w\nv,x\n"), ["x", "y", "z"], 3)
    with pytest.raises(ValueError, match="'x' stands for several rows"):
        read_links(put(tmp_path, "a,b\nx,y\n"), ["x", "x", "y"], 3)


def test_links_without_header_keep_their_first_pair(tmp_path):
    ids = [f"p{i}" for i in range(5)]
    assert read_links(put(tmp_path, "p0,p4\np1,p3\n"), ids, 5).tolist() == [[0, 4], [1, 3]]
    assert read_links(put(tmp_path, "p0,p4\n"), ids, 5).tolist() == [[0, 4]]
    with pytest.raises(Problems, match="line 1: there is no row 'p9'"):
        read_links(put(tmp_path, "p0,p9\np1,p3\n"), ids, 5)
    with pytest.raises(Problems, match="line 1: there is no row '7'"):
        read_links(put(tmp_path, "7,8\n0,1\n"), None, 5)


def test_links_by_ids_with_spaces(tmp_path):
    ids = [f"p {i}" for i in range(5)]
    assert read_links(put(tmp_path, "p 0,p 4\np 1,p 3\n"), ids, 5).tolist() == [[0, 4], [1, 3]]
    with pytest.raises(ValueError, match="has 3 columns; a file of links has two"):
        read_links(put(tmp_path, "0,1,2\n"), None, 5)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_header_alone_has_no_rows(tmp_path, encoding):
    with pytest.raises(ValueError, match="has a header but no rows of data"):
        read(put(tmp_path, "a|b\n".encode(encoding)))


@pytest.mark.parametrize("kind", ["parquet", "feather", "npz", "csv"])
def test_large_whole_numbers_are_ids(tmp_path, kind):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"id": 10**18 + np.arange(4), "a": np.arange(4.0)})
    path = str(tmp_path / f"t.{kind}")
    if kind == "npz":
        np.savez(path, X=frame[["a"]], id=frame["id"])
    else:
        getattr(frame, f"to_{kind}")(path, **({"index": False} if kind == "csv" else {}))
    assert assign(read(path, texts=("id",)), id_column="id").ids == [str(10**18 + i) for i in range(4)]


def test_whole_numbers_with_a_gap_are_written_without_a_point(tmp_path):
    """pandas has them as floats, in labels and in ids."""
    pd = pytest.importorskip("pandas")
    path = str(tmp_path / "t.parquet")
    pd.DataFrame({"y": [0.0, np.nan, 2.0, 2.0**53 - 1], "a": np.arange(4.0)}).to_parquet(path)
    assert assign(read(path, texts=("y",)), label_column="y").labels == ["0", "", "2", "9007199254740991"]


ROWS = [["007", "1.5", "red", "2"], ["a b", "", "green", "+3"], ["NA", "1e3", "red", "?"], ["x,y", "-inf", "", "4"]]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text + "\n\n",
        lambda text: text.replace("\n", "\n\n", 1),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.rstrip("\n"),
        lambda text: text.replace(",", ", ").replace("x, y", "x,y"),
        lambda text: text + ",,,\n",
        lambda text: "\ufeff" + text,
        lambda text: text.encode("utf-16"),
    ],
)
def test_how_a_table_is_written_does_not_change_it(tmp_path, change):
    """What pyarrow reads as it is and what is rewritten first give the same columns."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([["id", "a", "colour", "b"], *ROWS])
    for content in (buffer.getvalue(), change(buffer.getvalue())):
        table = read(put(tmp_path, content), texts=("id",))
        ids, a, colour, b = table.columns
        assert ids.as_texts() == [row[0] for row in ROWS] and colour.as_texts() == ["red", "green", "red", ""]
        assert np.array_equal(a.values, [1.5, np.nan, 1000, -np.inf], equal_nan=True)
        assert np.array_equal(b.values, [2, 3, np.nan, 4], equal_nan=True) and not table.problems


def test_lines_are_those_of_the_file(tmp_path):
    table = read(put(tmp_path, '\na,b\n1,2\n\n"x\ny",3\n4,"5"\n'))
    assert [table.row(i) for i in range(3)] == ["line 3", "line 6", "line 7"]
    assert table.columns[0].as_texts() == ["1", "x\ny", "4"] or len(table.columns[0].bad_rows) == 1


def test_an_option_of_another_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"--key is for files of format h5ad or npz, and .* is csv"):
        read(put(tmp_path, as_csv()), key="X")


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
def test_a_name_that_is_the_number_of_another_column_is_a_name(tmp_path, kind):
    """As pandas writes an array: 0, 1, 2. Column "2" is the third, not the second."""
    pd = pytest.importorskip("pandas")
    path = str(tmp_path / f"t.{kind}")
    frame = pd.DataFrame(TABLE, columns=["0", "1"]).assign(**{"2": [7, 8, 9]})
    if kind == "npz":
        np.savez(path, X=frame[["0", "1"]], **{"2": 10**18 + np.arange(3)})
    else:
        getattr(frame, f"to_{kind}")(path, index=False)
    table = read(path, texts=("2",))
    assert [column.texts is None for column in table.columns[:2]] == [True, True]
    roles = assign(table, label_column="2")
    assert roles.labels == ([str(10**18 + i) for i in range(3)] if kind == "npz" else ["7", "8", "9"])
    assert prepare(table, roles.used).X.tolist() == TABLE.tolist()
    if kind == "npz":  # by its number
        assert assign(read(path, texts=("3",)), id_column="3").ids == roles.labels


def test_integers_that_are_no_decimal_numbers_are_named(tmp_path):
    table = read(put(tmp_path, "a,b\n0x10,1\n2,2\n3,3\n"))
    with pytest.raises(Problems, match="line 2, column 'a': '0x10' is not a number"):
        prepare(table, assign(table).used)


def test_a_header_of_links_is_reported(tmp_path, caplog):
    """Two ids that are both mistyped look like a header."""
    caplog.set_level("INFO")
    assert read_links(put(tmp_path, "P0,p9\np1,p3\n"), [f"p{i}" for i in range(5)], 5).tolist() == [[1, 3]]
    assert "the first line (P0, p9) names no row, and is read as a header" in caplog.text


def test_keys_of_an_h5ad_file_that_are_no_tables_of_its_cells(tmp_path):
    anndata, pd = pytest.importorskip("anndata"), pytest.importorskip("pandas")
    data = anndata.AnnData(np.eye(4, 3), obs=pd.DataFrame({"kind": ["x", "y", "x", "y"]}, index=list("abcd")))
    data.obsm["frame"] = pd.DataFrame({"u": np.arange(4.0)}, index=data.obs_names)
    data.varm["PCs"], data.uns["about"] = np.eye(3), {"a": 1}
    path = str(tmp_path / "t.h5ad")
    data.raw = data
    data.write_h5ad(path)
    for key in ("obs", "obs/kind", "uns", "uns/about", "obsm", "var", "varm/PCs", "X/x"):
        with pytest.raises(ValueError, match=f"no table {key!r} of its cells; --key takes X, obsm/frame, raw/X"):
            read(path, key=key)
    with pytest.raises(ValueError, match=r"obsm/frame is of type 'dataframe'; --key takes arrays"):
        read(path, key="obsm/frame")
    assert read(path, key="raw/X").n_rows == 4
