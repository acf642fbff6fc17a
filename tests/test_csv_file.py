"""CSV files as spreadsheets and colleagues write them, and those that are none."""

import io
import sys
import warnings

import pandas as pd
import pytest

from ssep.cli.csv_file import numbers, read_csv

DATES = ["2024-01-01", "2024-01-02", "2024-01-04"]
COUNTS = [3.0, 4.5, float("nan")]


def found(path, time="date", target="count"):
    frame = read_csv(str(path), time, None, None)
    return list(frame[time].dt.strftime("%Y-%m-%d")), numbers("--target", frame, target)


def write(folder, text, encoding="utf-8"):
    path = folder / "data.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t", ", ", "; "])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_separators_are_those_of_the_first_line(separator, encoding, end, tmp_path):
    lines = [separator.join(row) for row in (("date", "count"), *zip(DATES, ("3", "4.5", ""), strict=True))]
    dates, counts = found(write(tmp_path, end.join(lines) + end, encoding))
    assert dates == DATES
    pd.testing.assert_series_equal(counts, pd.Series(COUNTS, index=[2, 3, 4], name="count"))


def test_separators_in_quotes_are_none(tmp_path):
    text = 'date,"flow; m3/s; daily"\n2024-01-01,3\n2024-01-02,4.5\n2024-01-04,\n'
    dates, counts = found(write(tmp_path, text), target="flow; m3/s; daily")
    assert dates == DATES
    assert list(counts[:2]) == COUNTS[:2]


def test_standard_input_is_read_as_a_file_is(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("date;count\n2024-01-01;3\n2024-01-02;4.5\n2024-01-04;\n"))
    dates, counts = found("-")
    assert dates == DATES
    assert list(counts[:2]) == COUNTS[:2]


WRONG = {
    "empty": ("", "data.csv` must have a line with the names of its columns; got an empty file"),
    "more fields than columns, from the first row on": (
        "date;count\n2024-01-01;3;x\n2024-01-02;4;x\n",
        "data.csv` must have as many fields in every line as it has columns",
    ),
    "more fields in one row": (
        "date,count\n2024-01-01,3\n2024-01-02,4,5\n",
        "as it has columns; got another number: .*line 3",
    ),
    "a number with a decimal comma": ("date;count\n2024-01-01;3,5\n", "got '3,5' in line 2. Write numbers as 1234.5"),
    "an infinite number": (
        "date,count\n2024-01-01,3\n2024-01-02,inf\n",
        "must have a finite number .*; got inf in line 3",
    ),
    "an infinite time": ("date,count\n1,3\n-inf,3\n", "`--time date` must have a finite time .*; got -inf in line 3"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_with_its_file_or_line(name, tmp_path):
    text, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        found(write(tmp_path, text))


@pytest.mark.parametrize(("times", "warned"), [(("20240131", "20240201"), True), (("20240131", "20240132"), False)])
def test_dates_that_look_like_numbers_are_warned_of(times, warned, tmp_path):
    path = write(tmp_path, "date,count\n" + "".join(f"{time},3\n" for time in times))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert list(read_csv(str(path), "date", None, None)["date"]) == [int(time) for time in times]
    assert ["--date-format %Y%m%d" in str(each.message) for each in caught] == [True] * warned


def test_other_encodings_are_named_as_such(tmp_path):
    with pytest.raises(ValueError, match=r"data.csv` must be text in UTF-8"):
        found(write(tmp_path, "date,größe\n2024-01-01,3\n", "latin-1"))
