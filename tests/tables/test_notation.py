"""Numbers as people write them: every notation gives the numbers that were written, or says why it cannot."""

import json

import numpy as np
import pytest

from kernelclust.tables import Problems, assign, prepare, prepared_like, read, text_columns

NUMBERS = [33585.0, 950.0, 1234567.5, -12.25, 0.75]


def german(number, group="."):
    return f"{number:,.2f}".replace(",", "_").replace(".", ",").replace("_", group)


NOTATIONS = {
    "dollars": lambda x: f"-${-x:,.2f}" if x < 0 else f"${x:,.2f}",
    "accounts": lambda x: f"({-x:,.2f})" if x < 0 else f"{x:,.2f}",
    "thousands and points": lambda x: f"{x:,.2f}",
    "German": german,
    "French": lambda x: german(x, "\u202f") + " €",
    "Swiss": lambda x: f"CHF {x:,.2f}".replace(",", "’"),
    "kilograms": lambda x: f"{x} kg",
    "without a space": lambda x: f"{x:.2f}km/h",
    "percent": lambda x: f"{x} %",
    "minus sign": lambda x: f"{x} °C".replace("-", "−"),
    "any unit": lambda x: f"{x} widgets",
}


def table(tmp_path, cells, name="t.csv", **options):
    lines = ["n;value", *(f"{k};{cell}" for k, cell in enumerate(cells))]
    (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read(str(tmp_path / name), **options)


def values(tmp_path, cells, **options):
    return prepare(given := table(tmp_path, cells, **options), given.columns[1:]).X.ravel().tolist()


def refused(tmp_path, cells, **options):
    with pytest.raises(Problems) as caught:
        values(tmp_path, cells, **options)
    return str(caught.value)


@pytest.mark.parametrize("write", NOTATIONS.values(), ids=NOTATIONS)
def test_numbers_come_back_as_they_were_written(tmp_path, write):
    given = table(tmp_path, [*map(write, NUMBERS), ""])
    prepared = prepare(given, given.columns[1:], missing="median")
    assert np.allclose(prepared.X.ravel(), [*NUMBERS, np.median(NUMBERS)], rtol=1e-15)
    assert len(prepared.notes) == 1 and prepared.notes[0].startswith("read as numbers: value")
    stored = json.loads(json.dumps(prepared.to_dict()))  # new rows are read alike, also where they show less
    new = table(tmp_path, [write(950.0)], name="new.csv", header="yes")
    assert text_columns(stored) == ("value",)
    again = read(str(tmp_path / "new.csv"), texts=text_columns(stored))
    assert prepared_like(again, stored).X.tolist() == [[950.0]] and new.n_rows == 1


def test_parquet_is_read_alike(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"price": ["$1,200", "$950"], "code": ["01", "02"]}), tmp_path / "t.parquet")
    given = read(str(tmp_path / "t.parquet"))
    prepared = prepare(given, given.columns, categories="one-hot")
    assert prepared.names == ["price", "code=01", "code=02"] and prepared.X[:, 0].tolist() == [1200, 950]


def test_what_may_be_two_numbers_is_settled_by_the_column_or_refused(tmp_path):
    assert values(tmp_path, ["1,200", "950", "1,234,567"]) == [1200, 950, 1234567]
    assert values(tmp_path, ["1,200", "950", "0,950"]) == [1.2, 950, 0.95]  # no thousands begin with zero
    assert values(tmp_path, ["1.200 €", "950 €", "1,5 €"]) == [1200, 950, 1.5]
    assert values(tmp_path, ["$1,200", "$950"]) == [1200, 950]  # dollars have a decimal point
    for cells in (["1,200", "950"], ["1.200 €", "950 €"], ["$1.200", "$950"]):
        said = refused(tmp_path, cells)
        assert "line 2, column 'value'" in said and ("may be 1.2 or 1200" in said or "may be 1200 or 1.2" in said)
        assert "--decimal ." in said and "--decimal ," in said and "--drop value" in said
        low, high = (values(tmp_path, cells, decimal=sign) for sign in ".,")
        assert sorted([low[0], high[0]]) == [1.2, 1200] and low[1] == high[1] == 950


def test_points_that_may_separate_thousands_are_pointed_out(tmp_path):
    assert values(tmp_path, ["1.234", "950", "12.500"]) == [1.234, 950, 12.5]
    assert any(
        "1.234 beside 950" in note and "--decimal ," in note
        for note in table(tmp_path, ["1.234", "950", "12.500"]).notes
    )
    assert values(tmp_path, ["1.234", "950", "12.500"], decimal=",") == [1234, 950, 12500]
    for cells in (["1.234", "2.345", "3.456"], ["1.23", "950", "4.567"], ["0.234", "1", "0.567"]):
        assert not table(tmp_path, cells).notes


def test_units_that_contradict_each_other_are_refused_by_name(tmp_path):
    said = refused(tmp_path, ["60.7 kg", "61 kg", "213 lb"])
    assert "line 4, column 'value': '213 lb' is in lb, and '60.7 kg' (line 2) in kg; write all cells in one" in said
    assert "is without a unit, and '$5' (line 2) in $" in refused(tmp_path, ["$5", "6"])
    assert "'10 %' is in %, and '0.1' (line 2) without a unit" in refused(tmp_path, ["0.1", "0.2", "0.3", "10 %"])


def test_one_cell_that_is_no_number_is_named(tmp_path):
    said = refused(tmp_path, ["$5", "$6", "unknown", "$7"])
    assert "line 4, column 'value': 'unknown' is not a number, as most cells are, such as '$5'; correct it" in said


def test_other_texts_stay_texts(tmp_path):
    for cells in (
        ["A1", "A2"],
        ["1st", "2nd"],
        ["1 room", "2 rooms"],
        ["18-25", "26-35"],
        ["12:30", "1:15"],
        ["v1.2", "v1.3"],
    ):
        assert "is text (2 different); add --categories one-hot" in refused(tmp_path, cells)


def test_a_file_without_names_has_no_header_of_numbers(tmp_path):
    (tmp_path / "t.csv").write_text("$1,200.50;3 kg\n$950.00;4 kg\n")
    given = read(str(tmp_path / "t.csv"))
    assert not given.has_names and prepare(given, given.columns).X.tolist() == [[1200.5, 3], [950, 4]]


def test_new_rows_in_another_unit_are_refused(tmp_path):
    given = table(tmp_path, ["60 kg", "61 kg"])
    stored = prepare(given, given.columns).to_dict()
    for cell in ("213 lb", "62", "heavy"):
        table(tmp_path, [cell], name="new.csv")
        new = read(str(tmp_path / "new.csv"), texts=text_columns(stored))
        for missing in (None, "median"):
            with pytest.raises(Problems, match=f"line 2, column 'value': '{cell}' is not a number in kg; correct it"):
                prepared_like(new, stored, missing)


def test_dates_on_a_time_line(tmp_path):
    cells = ["1970-01-02", "1971-01-01 12:00", "1969-12-31"]
    given = table(tmp_path, [*cells, ""])
    prepared = prepare(given, given.columns[1:], dates="timeline", missing="median")
    assert prepared.X.ravel().tolist() == [1, 365.5, -1, 1]
    new = prepared_like(table(tmp_path, ["1970-01-11"]), json.loads(json.dumps({**prepared.to_dict()})))
    assert new.X.tolist() == [[10]]
    assert prepare(given, given.columns, dates="drop").left_out == ["value"]
    with pytest.raises(ValueError, match="'1/2/2024' in column 'value' may have the day or the month first"):
        prepare(one := table(tmp_path, ["1/2/2024", "3/4/2024"]), assign(one).used, dates="timeline")
