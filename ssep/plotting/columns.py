"""Which columns of the observations to show."""

from collections.abc import Sequence

from ssep.checks import require

Columns = Sequence[int] | None


def pick(call: str, columns: Columns, count: int | None, most: int) -> list[int]:
    """The columns to show, so many at the most; [0] where observations have no axis for them."""
    if count is None:
        remedy = "Leave it out."
        require(columns is None, f"plotting.{call}(columns)", "needs several observations per time", columns, remedy)
        return [0]
    shown = list(range(count)) if columns is None else [int(column) for column in columns]
    known = bool(shown) and all(0 <= column < count for column in shown)
    require(known, f"plotting.{call}(columns)", f"must name some of {count} columns", columns, "Count from 0.")
    remedy = f"Choose some, for example `columns=range({most})`."
    limit = f"must name at most {most} columns"
    require(len(shown) <= most, f"plotting.{call}(columns)", limit, f"{len(shown)} of them", remedy)
    return shown
