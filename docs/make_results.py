"""Write docs/results.md from the records of a benchmark: ``python docs/make_results.py RESULTS_FOLDER``.

Every number in the page comes from the records; the text around them is in this file.
"""

import sys
from pathlib import Path

from relaxwl.evaluation import Results, ResultStore, dataset_table, results_table, runtime_table
from relaxwl.evaluation.paper import PAPER_ACCURACIES

PAGE = Path(__file__).parent / "results.md"
ORDER = ["stats-rf", "ve-hist", "wl", "gs", "sp", "odd-sth", "wwl", "pwl", "wl-oa", "gwl", "gwl-oa", "rwl", "rwl-star"]
ORDER += ["rwl-auto", "auto"]  # the first is what older records call a choice among R-WL* settings
SOCIAL = ["EGO-1", "IMDB-BINARY", "REDDIT-BINARY"]
OTHERS = ["MUTAG", "PTC_MR", "BZR", "PROTEINS", "NCI1"]

INTRODUCTION = """\
# Results

Accuracies of all kernels under the protocol of the paper, beside the paper's own numbers. The page is written by
`docs/make_results.py` from the records that `relaxwl benchmark` kept; nothing in the tables is typed.

**Protocol.** Support vector machine on the Gram matrix scaled to mean diagonal 1; stratified 10-fold cross-validation,
{repeats} repetitions with other folds and reseeded clusterings; kernel parameters and C (2^-12 to 2^12, ten values)
chosen together by 3-fold cross-validation within each training part; transductive: kernels see all graphs, never their
classes.
Seed 0. The commands:

<!-- needs: hours -->
```sh
relaxwl benchmark EGO-1.zip … --kernels ve-hist wl gs sp wwl pwl wl-oa rwl-star rwl-auto --repeats 5 --jobs 1 \\
    --time-limit 1500 --out results
relaxwl benchmark MUTAG.zip … --kernels … rwl --repeats 5 --jobs 1 --time-limit 1500 --out results
python docs/make_results.py results
```

"""

DISCUSSION = """\
## Where we differ from the paper, and why

- **VE-Hist**: the paper leaves open how histograms are compared. A dot product does not reach its numbers on
  unlabelled graphs, a Gaussian kernel does; ours offers both to the inner selection. See [baselines.md](baselines.md).
- **PWL on EGO-1** comes out higher, and the classifier explains it as far as we can see. The script of PWL's authors
  classifies by a random forest on scaled features (10 × 10-fold, nothing chosen inside). With such a forest our
  features give 58.95 ± 2.59 on EGO-1 (`benchmarks/pwl_forest.py`), where the paper has 56.95 ± 2.15; its PWL column is
  also the only one with means that 5 repetitions over 200 graphs cannot give. This is inferred, not confirmed. Ties are
  broken by label here, not by vertex number, so that features do not change when vertices are renumbered; under the
  support vector machine this matters little.
- **SP on REDDIT-BINARY** comes out far higher, because our Gram matrix is scaled to mean diagonal 1 before C is chosen.
  Without that (three folds, 10^5 steps) none of 90 SVM fits converged and the accuracy was 54 %, close to the paper's;
  with it, 67 %. How many fits reached the iteration limit stands below the tables.
- **ODD-STh** comes out far higher on EGO-1 and IMDB-BINARY, and convergence seems to be the reason: on IMDB-BINARY
  without scaling (three folds, heights 2 and 4, 10^5 steps) none of 180 fits converged and the accuracy was 60 %; with
  scaling 18 did not, and it was 61 %; under the full protocol with 10^6 steps it is what the table says.
- **WL on REDDIT-BINARY** comes out higher too. Scaling does not explain it (82 % in three folds with and without), and
  our Gram matrix equals GraKeL's; published values differ by as much (73.3 in the TUDataset paper). Unexplained.
- **PWL on REDDIT-BINARY** comes out lower; a random forest took too long there to see whether it explains this as well.
- **GS** draws samples per graph from the same law as GraKeL, but counts each graphlet once where GraKeL counts some
  twice.
- **R-WL\\*** uses exact assignments and integral median centres where the authors ran entropic barycentres.
- **R-WL and R-WL\\*** are normalised (every graph has similarity 1 with itself); the paper does not say whether its
  kernels are. Without it, R-WL\\* gave 67.9, 71.3 and 86.1 on EGO-1, IMDB-BINARY and REDDIT-BINARY, whose graphs
  differ most in size. More rounds of k-means, updates of every centre in every round, and larger C did not help there.
- **rwl-auto** is R-WL\\* whose clusters (½, 1, 2 or 4 times √trees in 3 partitions, or a mixture of all four in 24),
  depth and similarity (dot product or histogram intersection) are chosen by the inner cross-validation alone, with
  counts normalised at each depth. The outer folds take part in no choice within a run. But that a mixture and this
  normalisation are offered at all was decided by looking at scores with other seeds on EGO-1, IMDB-BINARY and
  REDDIT-BINARY, which favours rwl-auto a little on these three.

Cells that are missing were not run; "–" means out of time (1500 seconds a repetition; ODD-STh on REDDIT-BINARY,
PROTEINS and NCI1 and R-WL on PROTEINS 300). Of rwl-auto on NCI1 two of five repetitions were run. Times are seconds on
a shared 2-core machine and serve for orders of magnitude only.
"""


def main(folder: str) -> None:
    """Read the records and write the page."""
    results = ResultStore(Path(folder) / "results.jsonl").load()
    social = of(results, [name for name in SOCIAL if name in results.datasets])
    others = of(results, [name for name in OTHERS if name in results.datasets])
    repeats = max(len(results.cell(d, k).accuracies) for d in results.datasets for k in results.kernels)
    parts = [INTRODUCTION.format(repeats=repeats)]
    parts += ["## The paper's data sets\n\n", tables(social, PAPER_ACCURACIES)]
    if len(others):
        parts += ["\n## Molecules and proteins\n\n", tables(others, None)]
    parts += ["\n## The data sets\n\n", dataset_table(results).to_markdown(), "\n\n", DISCUSSION]
    PAGE.write_text("".join(parts), encoding="utf-8")


def of(results: Results, datasets: list[str]) -> Results:
    """Return the records of some data sets, in their order, kernels in the order of the table."""
    records = [record for name in datasets for record in results.select(dataset=name)]
    return Results(sorted(records, key=lambda record: ORDER.index(record.key.kernel) if hasattr(record, "key") else -1))


def tables(results: Results, reference: dict[str, dict[str, tuple[float, float] | None]] | None) -> str:
    """Return the tables of accuracies and runtimes."""
    return f"{results_table(results, reference=reference).to_markdown()}\n\n{runtime_table(results).to_markdown()}\n"


if __name__ == "__main__":
    main(sys.argv[1])
