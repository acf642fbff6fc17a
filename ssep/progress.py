"""A progress bar, if one is wanted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(total: int, shown: bool) -> Iterator[Callable[[float], None]]:
    """A function that counts one step and shows its energy; nothing is shown, or imported, unless asked for."""
    if not shown:
        yield lambda energy: None
        return
    try:
        from tqdm import tqdm
    except ImportError as error:
        raise ImportError("`fit(progress=True)` needs tqdm; install `ssep[progress]` or leave it out.") from error
    with tqdm(total=total, desc="fit") as bar:

        def advance(energy: float) -> None:
            bar.set_postfix(energy=f"{energy:.4f}", refresh=False)
            bar.update()

        yield advance
