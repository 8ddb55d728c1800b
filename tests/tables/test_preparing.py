"""From cells to numbers: what is missing, categories, what turns, units; new rows go the same way."""

import json

import numpy as np
import pandas as pd
import pytest

from kernelclust.tables import Problems, assign, prepare, prepared_like, read, text_columns


def table(tmp_path, text, name="t.csv", **options):
    (tmp_path / name).write_text(text)
    return read(str(tmp_path / name), **options)


def prepared(table, **options):
    return prepare(table, assign(table).used, **options)


GAPS = "a,colour\n1,red\n,blue\n3,\n8,red\n"


def test_missing(tmp_path):
    dropped = prepared(table(tmp_path, GAPS), missing="drop", categories="one-hot")
    assert dropped.rows.tolist() == [0, 3] and dropped.X[:, 0].tolist() == [1, 8]
    filled = prepared(table(tmp_path, GAPS), missing="median", categories="one-hot")
    assert filled.X[:, 0].tolist() == [1, 3, 3, 8]
    assert filled.X[:, 1:].tolist() == [[1, 0], [0, 1], [1, 0], [1, 0]]  # red is the most frequent
    with pytest.raises(Problems, match=r"(?s)column 'a': missing value.*column 'colour': missing value"):
        prepared(table(tmp_path, GAPS), categories="one-hot")
    with pytest.raises(ValueError, match="every row has missing values"):
        prepared(table(tmp_path, "a,b\n1,\n,2\n"), missing="drop")


def test_categories(tmp_path):
    some = table(tmp_path, "a,colour\n1,red\n2,blue\n3,red\n")
    assert prepared(some, categories="one-hot").names == ["a", "colour=red", "colour=blue"]
    left = prepared(some, categories="drop")
    assert left.names == ["a"] and left.left_out == ["colour"]
    many = table(tmp_path, "id,a\n" + "".join(f"s{i},{i}\n" for i in range(30)))
    with pytest.raises(Problems, match=r"30 different ones in 30 cells; .* --id-column id"):
        prepared(many, categories="one-hot")


def test_categories_that_differ_only_in_their_spelling_are_pointed_out(tmp_path):
    parquet = tmp_path / "plans.parquet"
    pd.DataFrame({"plan": ["pro", "free", "Pro ", "free"], "a": range(4)}).to_parquet(parquet)
    found = prepared(read(str(parquet)), categories="one-hot")
    assert len(found.names) == 4 and any("'pro', 'Pro '" in text for text in found.notes)
    assert not prepared(table(tmp_path, "a,plan\n1,pro\n2,free\n3,pro\n"), categories="one-hot").notes


def test_every_column_of_the_file_counts_the_same_when_standardised(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal():.3f},{rng.choice(['r', 'g', 'b'])},{rng.integers(24)}" for _ in range(50)]
    some = table(tmp_path, "x,colour,hour\n" + "\n".join(rows) + "\n")
    found = prepared(some, categories="one-hot", cyclic=["hour:24"], standardize=True)
    assert found.names == ["x", *(f"colour={t}" for t in some.columns[1].texts), "cos hour", "sin hour"]
    assert np.allclose(found.X.mean(axis=0), 0)
    variance = found.X.var(axis=0)
    assert np.allclose([variance[0], variance[1:4].sum(), variance[4:].sum()], 1)


def test_what_turns_has_no_beginning(tmp_path):
    X = prepared(table(tmp_path, "month\n1\n12\n0\n6\n"), cyclic=["month:12"]).X
    assert np.allclose(X[1], X[2]) and np.allclose(X[3], -X[2]) and np.allclose(np.hypot(*X.T), 1)
    with pytest.raises(ValueError, match="positive number"):
        prepared(table(tmp_path, "month\n1\n2\n"), cyclic=["month:-3"])
    with pytest.raises(ValueError, match="give COLUMN:PERIOD"):
        prepared(table(tmp_path, "month\n1\n2\n"), cyclic=["month"])


@pytest.mark.parametrize(
    ("dates", "turn", "share"),
    [
        (["2024-01-01", "2024-07-01 12:00"], "year", [0, 182.5 / 366]),
        (["01.01.2023", "31.12.2023"], "year", [0, 364 / 365]),
        (["2024-01-01T06:00", "2024-01-01T18:00:00"], "day", [0.25, 0.75]),
        (["2024-01-01", "2024-01-07"], "week", [0, 6 / 7]),  # a Monday, a Sunday
        (["2024-02-01", "2024-02-15"], "month", [0, 14 / 29]),
        (["13/01/2024", "01/02/2024"], "year", [12 / 366, 31 / 366]),  # the day first, as one of them shows
    ],
)
def test_dates_turn(tmp_path, dates, turn, share):
    X = prepared(table(tmp_path, "x,when\n" + "".join(f"1,{d}\n" for d in dates)), cyclic=[f"when:{turn}"]).X[:, 1:]
    angle = 2 * np.pi * np.array(share)
    assert np.allclose(X, np.c_[np.cos(angle), np.sin(angle)])


def test_dates_that_can_be_read_both_ways_are_refused(tmp_path):
    some = table(tmp_path, "when\n01/02/2024\n03/04/2024\n")
    with pytest.raises(ValueError, match="the day or the month first"):
        prepared(some, cyclic=["when:year"])


FITTED = "a,colour,when,b\n1,red,2024-01-01,10\n5,blue,2024-06-01,20\n3,red,2024-09-01,60\n"
SETTINGS = {"categories": "one-hot", "cyclic": ["when:year"], "standardize": True, "missing": "error"}


def test_new_rows_go_the_same_way_by_name(tmp_path):
    fitted = prepared(table(tmp_path, FITTED), **SETTINGS)
    kept = json.loads(json.dumps(fitted.to_dict()))
    other = "b,extra,when,colour,a\n60,zz,2024-09-01,red,3\n10,zz,2024-01-01,red,1\n"
    assert np.array_equal(prepared_like(table(tmp_path, other), kept).X, fitted.X[[2, 0]])


def test_new_rows_that_do_not_fit_are_named(tmp_path):
    kept = prepared(table(tmp_path, FITTED), **SETTINGS).to_dict()
    with pytest.raises(ValueError, match="lacks 2 columns of the fit: 'colour', 'when'"):
        prepared_like(table(tmp_path, "a,b\n1,2\n"), kept)
    new = table(tmp_path, "a,colour,when,b\n1,violet,2024-01-01,10\n2,blue,2024-01-01,x\n3,red,2024-01-01,4\n")
    with pytest.raises(Problems, match=r"(?s)'violet' was not in the fitted file.*line 3, column 'b': 'x' is not"):
        prepared_like(new, kept)
    new = table(tmp_path, "a,colour,when,b\n1,violet,2024-01-01,10\n3,red,2024-01-01,4\n")
    assert prepared_like(new, kept, "drop").rows.tolist() == [1]
    assert prepared_like(new, kept, "median").X.shape == (2, 6)


def test_huge_numbers_can_be_standardised(tmp_path):
    X = prepared(table(tmp_path, "a\n1e307\n3e307\n"), standardize=True).X
    assert np.allclose(X, [[-1], [1]])


def test_a_column_of_the_fit_that_stands_twice_is_refused(tmp_path):
    fitted = table(tmp_path, "a,b\n1,2\n3,4\n")
    settings = prepared(fitted).to_dict()
    with pytest.raises(ValueError, match="several columns are called 'a', a column of the fit"):
        prepared_like(table(tmp_path, "a,a,b\n9,1,2\n9,3,4\n"), settings)
    new = table(tmp_path, "a,x,x,b\n1,0,0,2\n")  # other columns may
    assert prepared_like(new, settings).X.tolist() == [[1, 2]]


@pytest.mark.parametrize("cells", ["01\n01\n", " 01\n01 \n"])
def test_categories_that_look_like_numbers_are_compared_as_written(cells, tmp_path):
    settings = prepared(table(tmp_path, "code\n01\nred\n1\nblue\nred\n"), categories="one-hot").to_dict()

    def new(cells):
        return prepared_like(table(tmp_path, f"code\n{cells}", texts=text_columns(settings)), settings).X.tolist()

    assert new(cells) == [[1, 0, 0, 0]] * 2
    with pytest.raises(Problems, match="'001' was not in the fitted file"):
        new("001\n")
    with pytest.raises(Problems, match="missing value"):
        new("01\nNA\n")


def test_columns_without_names_are_as_many_as_those_of_the_fit(tmp_path):
    """Their numbers say which is which: a column of ids in front would move all others."""
    rows = "1.5,2\n3,4\n"
    settings = json.loads(json.dumps(prepared(table(tmp_path, rows)).to_dict()))
    assert prepared_like(table(tmp_path, rows), settings).X.tolist() == [[1.5, 2], [3, 4]]
    with pytest.raises(ValueError, match="has 3 columns, and the file of the fit had 2"):
        prepared_like(table(tmp_path, "7.5,1.5,2\n8,3,4\n"), settings)
    partly = prepare(table(tmp_path, rows), assign(table(tmp_path, rows), drop="1").used).to_dict()
    assert prepared_like(table(tmp_path, rows), partly).X.tolist() == [[2], [4]]
    with pytest.raises(ValueError, match="has 1 columns, and the file of the fit had 2"):
        prepared_like(table(tmp_path, "2\n4\n"), partly)
    assert "n_columns" not in prepared(table(tmp_path, "a,b\n1,2\n")).to_dict()  # these are matched by name


@pytest.mark.parametrize("option", [{"weights": ["a:2", "1:3"]}, {"cyclic": ["a:2", "a:3"]}])
def test_a_column_has_one_weight_and_one_period(option, tmp_path):
    with pytest.raises(ValueError, match=r"column 'a' has --(weight|cyclic) 2 already"):
        prepared(table(tmp_path, "a,b\n1,2\n3,4\n"), **option)


def test_times_below_a_second_and_time_zones_count_on_a_time_line(tmp_path):
    def days(*dates):
        rows = "".join(f"{date},{k}.5\n" for k, date in enumerate(dates))
        return prepared(table(tmp_path, "when,b\n" + rows), dates="timeline").X[:, 0]

    seconds = 86400 * (days("2024-03-01T12:00:00", "2024-03-01T12:00:00.25", "2024-03-01T12:00:01") - 19783.5)
    assert np.allclose(seconds, [0, 0.25, 1], atol=1e-6)
    zones = days("2024-03-01T12:00:00+02:00", "2024-03-01T12:00:00Z", "2024-03-01T12:00:00-06:00")
    assert np.allclose(24 * (zones - 19783.5), [-2, 0, 6])
    with pytest.raises(
        ValueError, match=r"'when' have a time zone, such as '.*Z', and others have none, such as '.*1'"
    ):
        days("2024-03-01T12:00:00Z", "2024-03-01")
    local = table(tmp_path, "when,b\n2024-03-01T06:00+02:00,1\n2024-03-01T18:00Z,2\n")
    assert np.allclose(prepared(local, cyclic=["when:day"]).X[:, 1], [1, -1])  # six in the morning, six in the evening


def test_a_small_spread_of_large_numbers_is_standardised(tmp_path):
    """Nanoseconds since 1970 over some milliseconds: unscaled, they would decide everything."""
    ns = 1_700_000_000_000_000_000 + 1_000_000 * np.arange(5)
    rows = "".join(f"{t},{0.1},{k}\n" for k, t in enumerate(ns))
    X = prepared(table(tmp_path, "t,same,b\n" + rows), standardize=True).X
    assert np.allclose(X.std(axis=0), [1, 0, 1], atol=1e-3)
