"""Every estimator by name, with the settings that the evaluation protocol tries: what the command line speaks of.

Classes are imported when they are asked for: a kernel that is not used costs nothing, nor does ``relaxwl --help``.
"""

import os
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relaxwl.kernels.base import CountKernel

Settings = dict[str, Any]

# The paper does not say whether it normalizes. Where graphs differ much in size it helps; elsewhere it does no harm.
NORMALIZED: tuple[Settings, ...] = ({"normalize": True},)
# Parts that gradual Weisfeiler-Lehman splits a cluster into, as in its authors' experiments.
GRADUAL_CLUSTERS = tuple({"n_clusters": number} for number in (2, 4, 8, 16))


@dataclass(frozen=True)
class Variant:
    """An estimator, not yet fitted: what sets it apart from its like, and the settings that its one fit covers."""

    parameters: Settings
    estimator: Any
    settings: tuple[Settings, ...]


@dataclass(frozen=True)
class Entry:
    """A kernel (or predictor) as users and tables name it, and what model selection chooses from.

    Attributes
    ----------
    name : str
        Name on the command line.
    title : str
        Name in tables.
    description : str
        One line.
    location : str
        Module and class, imported on first use; empty where there is a ``prototype``.
    fixed : dict
        Parameters that are the same in every variant.
    grid : tuple of dict
        Settings that need a fit of their own.
    settings : tuple of dict, optional
        What to choose from among the settings that one fit covers; None: all that the kernel's ``variations`` names.
    prototype : estimator, optional
        An estimator of the user, which is cloned.
    regressor : str
        Module and class that take the place of ``location`` in regression; empty for kernels, which do not predict.
    """

    name: str
    title: str
    description: str = ""
    location: str = ""
    fixed: Settings = field(default_factory=dict)
    grid: tuple[Settings, ...] = ({},)
    settings: tuple[Settings, ...] | None = None
    prototype: Any = None
    regressor: str = ""

    def estimator_class(self) -> Any:
        """Import and return the class."""
        if self.prototype is not None:
            return type(self.prototype)
        module, name = self.location.split(":")
        return getattr(import_module(module), name)

    def make(self, random_state: Any = None, n_jobs: int | None = None, **settings: Any) -> Any:
        """Return the estimator with the given settings, the seed and the threads (unless it has its own of these)."""
        from sklearn.base import clone

        estimator = self.estimator_class()(**self.fixed) if self.prototype is None else clone(self.prototype)
        known = estimator.get_params(deep=False)
        if "random_state" in known:
            settings = {"random_state": random_state, **settings}
        if "n_jobs" in known and known["n_jobs"] is None:
            settings = {"n_jobs": n_jobs, **settings}
        return estimator.set_params(**settings)

    def variants(self, random_state: Any = None, n_jobs: int | None = None) -> list[Variant]:
        """Return the estimators that need separate fits, each with the settings that its fit covers."""
        made = [(dict(given), self.make(random_state, n_jobs, **given)) for given in self.grid]
        return [Variant(given, estimator, self._covered_by(estimator)) for given, estimator in made]

    def _covered_by(self, estimator: Any) -> tuple[Settings, ...]:
        if self.settings is not None:
            return self.settings
        return tuple(estimator.variations()) if hasattr(estimator, "variations") else ({},)

    def for_task(self, task: str) -> "Entry":
        """Return the entry for classification or regression, which needs a estimator that predicts by itself."""
        if task == "classification" or (self.prototype is not None and hasattr(self.prototype, "predict")):
            return self
        if not self.regressor:
            there = ", ".join(entry.name for entry in ENTRIES if entry.regressor)
            raise ValueError(f"{self.name} does not predict numbers; regression needs a regressor on graphs: {there}")
        return replace(self, location=self.regressor)

    def within(self, depths: tuple[int, ...] | None) -> "Entry":
        """Return the entry with the choice of depths restricted; where there is one depth, there is no choice.

        Raises
        ------
        ValueError
            If the kernel offers none of these depths.
        """
        covered = self._covered_by(self.make())
        offered = list(dict.fromkeys(setting["max_depth"] for setting in covered if "max_depth" in setting))
        if depths is None or len(offered) < 2:
            return replace(self, settings=covered)
        kept = tuple(setting for setting in covered if setting.get("max_depth", depths[0]) in depths)
        if not kept:
            asked, there = (", ".join(map(str, found)) or "none" for found in (depths, offered))
            raise ValueError(f"depths {asked} were asked for, but the kernel {self.name} offers {there}")
        return replace(self, settings=kept)


def _depths(first: int, last: int, **setting: Any) -> tuple[Settings, ...]:
    return tuple({"max_depth": depth, **setting} for depth in range(first, last + 1))


def _entry(name: str, title: str, description: str, location: str, **more: Any) -> Entry:
    return Entry(name, title, description, f"relaxwl.kernels.{location}", **more)


_RELAXED = "relaxed:RelaxedWeisfeilerLehman"

ENTRIES = (
    _entry(
        "ve-hist",
        "VE-Hist",
        "histograms of node labels and edge labels, linear or Gaussian",
        "baselines.ve_hist:VertexEdgeHistogram",
    ),
    _entry(
        "wl",
        "WL",
        "Weisfeiler-Lehman subtree kernel, depths 1 to 5",
        "wl:WeisfeilerLehman",
        fixed={"max_depth": 5},
        settings=_depths(1, 5),
    ),
    _entry(
        "wl-tanimoto",
        "WL tanimoto",
        "Weisfeiler-Lehman counts compared by Σ min / Σ max, depths 1 to 5",
        "wl:WeisfeilerLehman",
        fixed={"max_depth": 5, "similarity": "tanimoto"},
        settings=_depths(1, 5),
    ),
    _entry(
        "gs",
        "GS",
        "graphlet sampling, graphlets of up to 3, 4 or 5 nodes",
        "baselines.graphlet_sampling:GraphletSampling",
        fixed={"epsilon": 0.1, "delta": 0.1},
        grid=({"max_size": 3}, {"max_size": 4}, {"max_size": 5}),
    ),
    _entry("sp", "SP", "shortest-path kernel", "baselines.shortest_path:ShortestPath"),
    _entry(
        "odd-sth",
        "ODD-STh",
        "ordered-decomposition trees of height 1 to 4",
        "baselines.odd_sth:OddSth",
        grid=({"height": 1}, {"height": 2}, {"height": 3}, {"height": 4}),
    ),
    _entry(
        "wwl",
        "WWL",
        "Wasserstein Weisfeiler-Lehman kernel, depth 5, λ from 0.0001 to 10",
        "baselines.wwl:WassersteinWL",
        fixed={"max_depth": 5},
    ),
    _entry(
        "pwl",
        "PWL",
        "persistent Weisfeiler-Lehman features, depth 5",
        "baselines.pwl:PersistentWL",
        fixed={"max_depth": 5},
        settings=_depths(5, 5),
    ),
    _entry(
        "wl-oa",
        "WL-OA",
        "Weisfeiler-Lehman optimal assignment, depths 1 to 5",
        "baselines.wl_oa:WLOptimalAssignment",
        fixed={"max_depth": 5},
        settings=_depths(1, 5),
    ),
    _entry(
        "gwl",
        "GWL",
        "gradual Weisfeiler-Lehman: clusters split in 2, 4, 8 or 16 at each of 1 to 10 steps",
        "baselines.gradual:GradualWL",
        fixed={"max_depth": 10},
        grid=GRADUAL_CLUSTERS,
        settings=_depths(1, 10),
    ),
    _entry(
        "gwl-oa",
        "GWL-OA",
        "optimal assignment by the clusters of gradual Weisfeiler-Lehman",
        "baselines.gradual:GradualWL",
        fixed={"max_depth": 10, "similarity": "intersection"},
        grid=GRADUAL_CLUSTERS,
        settings=_depths(1, 10),
    ),
    _entry(
        "rwl",
        "R-WL",
        "relaxed Weisfeiler-Lehman kernel under exact tree distances, depths 1 to 4",
        _RELAXED,
        fixed={"max_depth": 4, "n_partitions": 3, "approximate": False},
        grid=NORMALIZED,
        settings=_depths(1, 4),
    ),
    _entry(
        "rwl-tanimoto",
        "R-WL tanimoto",
        "counts of R-WL compared by Σ min / Σ max, depths 1 to 4",
        _RELAXED,
        fixed={"max_depth": 4, "n_partitions": 3, "approximate": False, "similarity": "tanimoto"},
        settings=_depths(1, 4),
    ),
    _entry(
        "rwl-star",
        "R-WL*",
        "relaxed Weisfeiler-Lehman kernel on chains of clusters, depths 1 to 4",
        _RELAXED,
        fixed={"max_depth": 4, "n_partitions": 3},
        grid=NORMALIZED,
        settings=_depths(1, 4),
    ),
    _entry(
        "rwl-star-tanimoto",
        "R-WL* tanimoto",
        "counts of R-WL* compared by Σ min / Σ max, depths 1 to 4",
        _RELAXED,
        fixed={"max_depth": 4, "n_partitions": 3, "similarity": "tanimoto"},
        settings=_depths(1, 4),
    ),
    _entry(
        "cwl",
        "CWL",
        "vectors of nodes (attributes, structure, labels) counted in random partitions, depths 1 to 3",
        "continuous:ContinuousWeisfeilerLehman",
        fixed={"max_depth": 3},
        settings=_depths(1, 3),
    ),
    Entry(
        "auto",
        "auto",
        "GraphClassifier: averages of exact and relaxed kernels, chosen by itself; GraphRegressor in regression",
        "relaxwl.predictors:GraphClassifier",
        regressor="relaxwl.predictors:GraphRegressor",
    ),
    Entry(
        "molecules",
        "molecules",
        "MoleculeClassifier: graphs, descriptors and fingerprints of molecules; MoleculeRegressor in regression",
        "relaxwl.molecules:MoleculeClassifier",
        regressor="relaxwl.molecules:MoleculeRegressor",
    ),
    _entry(
        "stats-rf",
        "Statistics",
        "sizes, degrees, triangles and label shares of graphs with a random forest: what a kernel has to beat",
        "baselines.statistics:StatisticsForestClassifier",
        regressor="relaxwl.kernels.baselines.statistics:StatisticsForestRegressor",
    ),
)

_BY_NAME = {entry.name: entry for entry in ENTRIES}


def kernel_names() -> list[str]:
    """Return the names of all kernels, in the order of the tables."""
    return [entry.name for entry in ENTRIES]


def get_kernel(name: str) -> Entry:
    """Return the entry of a kernel.

    >>> get_kernel("gs").title
    'GS'
    >>> [variant.parameters for variant in get_kernel("gs").variants(random_state=0)]
    [{'max_size': 3}, {'max_size': 4}, {'max_size': 5}]
    """
    if ":" in name:
        return _users_own(name)
    try:
        return _BY_NAME[name]
    except KeyError:
        raise ValueError(f"no kernel is called {name!r}; the names are {', '.join(kernel_names())}") from None


def _users_own(location: str) -> Entry:
    """Return the entry of a class of the user, ``package.module:Class``."""
    module, _, name = location.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"the kernel {location!r} (package.module:Class) cannot be imported: {error}") from None
    if not isinstance(found, type) or not all(hasattr(found, method) for method in ("fit", "get_params", "set_params")):
        raise ValueError(f"the kernel {location!r} must be a class derived from relaxwl.kernels.base.GraphKernel")
    return Entry(location, name, location=location)


def import_kernels() -> None:
    """Import the classes of all kernels, so that each can be found among the subclasses of its base class."""
    for entry in ENTRIES:
        if entry.location.startswith("relaxwl.kernels."):
            entry.estimator_class()


def load_kernel(path: str | os.PathLike[str]) -> "CountKernel":
    """Read a fitted kernel of any class from the file that its ``save`` wrote; nothing in the file is executed.

    >>> from tempfile import TemporaryDirectory
    >>> from relaxwl import GraphCollection
    >>> graphs = GraphCollection.from_edges([(3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)])])
    >>> with TemporaryDirectory() as folder:
    ...     get_kernel("sp").make().fit(graphs).save(f"{folder}/model.rwl")
    ...     load_kernel(f"{folder}/model.rwl")
    ShortestPath()
    """
    from relaxwl.kernels.base import CountKernel

    return CountKernel.load(path)
