"""The accuracies that the paper reports (its Table 1), to stand beside ours: percent, mean and standard deviation."""

PAPER_DATASETS = ("IMDB-BINARY", "REDDIT-BINARY", "EGO-1", "EGO-2", "EGO-3", "EGO-4")
# One kernel a line, one data set a column; – did not finish.
TABLE = """
ve-hist  70.82±0.53 84.07±0.28 29.30±2.84 27.70±2.64 25.10±2.56 24.60±2.10
wl       72.68±1.20 76.08±0.66 54.50±0.94 58.60±1.29 57.70±2.08 57.00±1.77
gs       66.28±1.00 78.02±0.58 64.10±1.98 56.80±1.20 53.30±2.86 51.30±1.96
sp       49.32±0.62 49.86±1.96 67.00±1.46 58.20±1.04 56.60±2.90 54.30±3.49
odd-sth  56.52±1.86 –          32.80±5.84 37.90±2.19 34.80±2.80 34.40±6.40
wwl      72.94±0.59 –          58.20±1.60 64.60±1.08 58.10±2.38 56.30±1.92
pwl      72.58±0.80 78.82±0.31 56.95±2.15 56.85±2.48 50.35±2.60 48.70±1.55
rwl-star 72.16±0.87 87.02±0.38 68.70±1.15 69.30±1.20 71.00±3.54 77.50±0.94
"""


def _accuracies(words: list[str]) -> dict[str, tuple[float, float] | None]:
    cells = (word.split("±") for word in words)
    found = (None if len(cell) < 2 else (float(cell[0]), float(cell[1])) for cell in cells)
    return dict(zip(PAPER_DATASETS, found, strict=True))


PAPER_ACCURACIES = {line.split()[0]: _accuracies(line.split()[1:]) for line in TABLE.strip().splitlines()}
