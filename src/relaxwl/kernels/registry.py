"""Every kernel by name, with the settings that the evaluation protocol tries.

Classes are imported when they are used: a kernel that is not used costs nothing, nor does ``relaxwl --help``.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relaxwl.kernels.base import CountKernel

Settings = dict[str, Any]


@dataclass(frozen=True)
class Variant:
    """An estimator, not yet fitted: the parameters that distinguish it, and the settings that its one fit covers."""

    parameters: Settings
    estimator: Any
    settings: tuple[Settings, ...]


@dataclass(frozen=True)
class Entry:
    """A kernel (or predictor) by name, and the settings that model selection chooses from.

    Parameters
    ----------
    name : str
        Name on the command line.
    title : str
        Name in tables.
    location : str, default=""
        Module and class, imported on first use; empty if there is a ``prototype``.
    description : str, default=""
        One line.
    fixed : dict, optional
        Parameters that are the same in every variant.
    grid : tuple of dict, default=({},)
        Settings that need a fit of their own.
    settings : tuple of dict, optional
        The settings to choose from among those that one fit covers; by default all of the kernel's ``variations``.
    prototype : estimator, optional
        A user-defined estimator, which is cloned.
    regressor : str, default=""
        Module and class used for regression; empty for kernels, which do not predict.

    See Also
    --------
    relaxwl.kernels.get_kernel : The entry of a name.
    relaxwl.kernels.kernel_names : All names.

    Examples
    --------
    >>> get_kernel("wl").make(max_depth=2)
    WeisfeilerLehman(max_depth=2)
    """

    name: str
    title: str
    location: str = ""
    description: str = ""
    fixed: Settings = field(default_factory=dict)
    grid: tuple[Settings, ...] = ({},)
    settings: tuple[Settings, ...] | None = None
    prototype: Any = None
    regressor: str = ""

    def estimator_class(self) -> Any:
        """Import the class.

        Returns
        -------
        type
            The class of the estimator.
        """
        if self.prototype is not None:
            return type(self.prototype)
        module, name = self.location.split(":")
        return getattr(import_module(module), name)

    def make(self, random_state: Any = None, n_jobs: int | None = None, **settings: Any) -> Any:
        """Make an estimator.

        Parameters
        ----------
        random_state : int, Generator or None, default=None
            The seed, where the estimator has one.
        n_jobs : int, optional
            Number of threads, unless the entry fixes it.
        **settings
            Other parameters.

        Returns
        -------
        estimator
            Not yet fitted.
        """
        from sklearn.base import clone

        estimator = self.estimator_class()(**self.fixed) if self.prototype is None else clone(self.prototype)
        known = estimator.get_params(deep=False)
        if "random_state" in known:
            settings = {"random_state": random_state, **settings}
        if "n_jobs" in known and known["n_jobs"] is None:
            settings = {"n_jobs": n_jobs, **settings}
        return estimator.set_params(**settings)

    def variants(self, random_state: Any = None, n_jobs: int | None = None) -> list[Variant]:
        """Make the estimators that need separate fits.

        Parameters
        ----------
        random_state : int, Generator or None, default=None
            As in :meth:`make`.
        n_jobs : int, optional
            As in :meth:`make`.

        Returns
        -------
        list of Variant
            Each has the settings that its fit covers.
        """
        made = [(dict(given), self.make(random_state, n_jobs, **given)) for given in self.grid]
        return [Variant(given, estimator, self._covered_by(estimator)) for given, estimator in made]

    def _covered_by(self, estimator: Any) -> tuple[Settings, ...]:
        if self.settings is not None:
            return self.settings
        return tuple(estimator.variations()) if hasattr(estimator, "variations") else ({},)

    def for_task(self, task: str) -> "Entry":
        """Choose the class for a task.

        Parameters
        ----------
        task : {"classification", "regression"}
            Regression needs a predictor.

        Returns
        -------
        Entry
            The entry for the task.
        """
        if task == "classification" or (self.prototype is not None and hasattr(self.prototype, "predict")):
            return self
        if not self.regressor:
            raise ValueError(
                f"{self.name} does not predict numbers; regression needs a regressor on graphs: "
                "auto, molecules, stats-rf"
            )
        return replace(self, location=self.regressor)

    def within(self, depths: tuple[int, ...] | None) -> "Entry":
        """Restrict the depths to choose from.

        Parameters
        ----------
        depths : tuple of int, optional
            The depths to choose from; by default all.

        Returns
        -------
        Entry
            The restricted entry.

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


def _each(name: str, values: Iterable[Any]) -> tuple[Settings, ...]:
    return tuple({name: value} for value in values)


_BASELINES = "relaxwl.kernels.baselines:"
_WL, _RELAXED = "relaxwl.kernels:WeisfeilerLehman", "relaxwl.kernels:RelaxedWeisfeilerLehman"
_TANIMOTO = {"similarity": "tanimoto"}
_TO_4, _TO_5, _TO_10 = (_each("max_depth", range(1, last + 1)) for last in (4, 5, 10))
_DEPTH_5 = {"max_depth": 5}
# The setting of the paper: few partitions, whose centers are optimized, compared by the dot product of counts.
_PAPER: Settings = {
    "max_depth": 4, "n_partitions": 3, "n_clusters": "sqrt", "max_iter": None, "similarity": "dot",
}  # fmt: skip
_EXACT = _PAPER | {"approximate": False}
# The paper does not state whether it normalizes. This helps if graphs differ much in size, and does no harm otherwise.
_NORMALIZED = _each("normalize", (True,))
# Numbers of parts into which gradual Weisfeiler-Lehman splits a cluster, as in its authors' experiments.
_SPLITS = _each("n_clusters", (2, 4, 8, 16))
# Name, title, class, description, fixed parameters, settings that need separate fits, settings that one fit covers.
_ROWS: tuple[tuple[Any, ...], ...] = (
    ("ve-hist", "VE-Hist", f"{_BASELINES}VertexEdgeHistogram",
     "histograms of node labels and edge labels, linear or Gaussian"),
    ("wl", "WL", _WL, "Weisfeiler-Lehman subtree kernel, depths 1 to 5", _DEPTH_5, ({},), _TO_5),
    ("wl-tanimoto", "WL tanimoto", _WL, "Weisfeiler-Lehman counts compared by Σ min / Σ max, depths 1 to 5",
     _DEPTH_5 | _TANIMOTO, ({},), _TO_5),
    ("gs", "GS", f"{_BASELINES}GraphletSampling", "graphlet sampling, graphlets of up to 3, 4 or 5 nodes",
     {"epsilon": 0.1, "delta": 0.1}, _each("max_size", (3, 4, 5))),
    ("sp", "SP", f"{_BASELINES}ShortestPath", "shortest-path kernel"),
    ("odd-sth", "ODD-STh", f"{_BASELINES}OddSth", "ordered-decomposition trees of height 1 to 4", {},
     _each("height", (1, 2, 3, 4))),
    ("wwl", "WWL", f"{_BASELINES}WassersteinWL",
     "Wasserstein Weisfeiler-Lehman kernel, depth 5, λ from 0.0001 to 10", _DEPTH_5),
    ("tmd", "TMD", f"{_BASELINES}TreeMover",
     "kernel of the tree mover's distance, depth 3, discount 1 or 0.5, λ from 0.0001 to 10", {},
     _each("discount", (1.0, 0.5))),
    ("pwl", "PWL", f"{_BASELINES}PersistentWL", "persistent Weisfeiler-Lehman features, depth 5", _DEPTH_5, ({},),
     (_DEPTH_5,)),
    ("wl-oa", "WL-OA", f"{_BASELINES}WLOptimalAssignment", "Weisfeiler-Lehman optimal assignment, depths 1 to 5",
     _DEPTH_5, ({},), _TO_5),
    ("gwl", "GWL", f"{_BASELINES}GradualWL",
     "gradual Weisfeiler-Lehman: clusters split in 2, 4, 8 or 16 at each of 1 to 10 steps", {"max_depth": 10},
     _SPLITS, _TO_10),
    ("gwl-oa", "GWL-OA", f"{_BASELINES}GradualWL",
     "optimal assignment by the clusters of gradual Weisfeiler-Lehman",
     {"max_depth": 10, "similarity": "intersection"}, _SPLITS, _TO_10),
    ("rwl", "R-WL", _RELAXED, "relaxed Weisfeiler-Lehman kernel under exact tree distances, depths 1 to 4",
     _EXACT, _NORMALIZED, _TO_4),
    ("rwl-tanimoto", "R-WL tanimoto", _RELAXED, "counts of R-WL compared by Σ min / Σ max, depths 1 to 4",
     _EXACT | _TANIMOTO, ({},), _TO_4),
    ("rwl-star", "R-WL*", _RELAXED,
     "WL and three relaxations of it on chains of clusters, compared by Σ min / Σ max, depths 1 to 4",
     {"max_depth": 4}, ({},), _TO_4),
    ("rwl-star-paper", "R-WL* (paper)", _RELAXED,
     "relaxed Weisfeiler-Lehman kernel as in the paper: three optimized partitions, depths 1 to 4",
     _PAPER, _NORMALIZED, _TO_4),
    ("cwl", "CWL", "relaxwl.kernels:ContinuousWeisfeilerLehman",
     "vectors of nodes (attributes, structure, labels) counted in random partitions, depths 1 to 3",
     {"max_depth": 3}, ({},), _each("max_depth", (1, 2, 3))),
    ("stats-rf", "Statistics", f"{_BASELINES}StatisticsForestClassifier",
     "random forest on sizes, degrees, triangles and label shares of graphs, as a baseline", {},
     ({},), None, None, f"{_BASELINES}StatisticsForestRegressor"),
    ("stats-rf-all", "All statistics", f"{_BASELINES}StatisticsForestClassifier",
     "random forest on all statistics of graphs, also of paths and spectra", {"statistics": "all"},
     ({},), None, None, f"{_BASELINES}StatisticsForestRegressor"),
)  # fmt: skip
ENTRIES = tuple(Entry(*row) for row in _ROWS)


def kernel_names() -> list[str]:
    """Return the names of all kernels, in the order of the tables.

    Returns
    -------
    list of str
        The names.

    See Also
    --------
    get_kernel : A kernel by its name.

    Examples
    --------
    >>> kernel_names()[:3]
    ['ve-hist', 'wl', 'wl-tanimoto']
    """
    return [entry.name for entry in ENTRIES]


def get_kernel(name: str) -> Entry:
    """Return the entry of a kernel.

    Parameters
    ----------
    name : str
        One of :func:`kernel_names`, or ``package.module:Class`` for a user-defined class.

    Returns
    -------
    Entry
        ``make()`` returns the kernel, ``variants()`` the kernels that the evaluation protocol tries.

    See Also
    --------
    kernel_names : The names.

    Examples
    --------
    >>> get_kernel("gs").title
    'GS'
    >>> [variant.parameters for variant in get_kernel("gs").variants(random_state=0)]
    [{'max_size': 3}, {'max_size': 4}, {'max_size': 5}]
    """
    return find_entry(name, ENTRIES)


def find_entry(name: str, entries: Iterable[Entry]) -> Entry:
    """Return the entry with a name, or that of a class of the user, ``package.module:Class``."""
    known = {entry.name: entry for entry in entries}
    if name in known:
        return known[name]
    module, colon, kind = name.partition(":")
    if not colon:
        raise ValueError(f"there is no kernel {name!r}; the kernels are {', '.join(known)}")
    try:
        found = getattr(import_module(module), kind)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"the kernel {name!r} (package.module:Class) cannot be imported: {error}") from None
    if not isinstance(found, type) or not all(hasattr(found, method) for method in ("fit", "get_params", "set_params")):
        raise ValueError(f"the kernel {name!r} must be a class derived from relaxwl.kernels.base.GraphKernel")
    return Entry(name, kind, name)


def import_kernels() -> None:
    """Import the classes of all kernels, so that they are found among the subclasses of the base class."""
    for entry in ENTRIES:
        entry.estimator_class()


def load_kernel(path: str | os.PathLike[str]) -> "CountKernel":
    """Load a fitted kernel of any class from a file written by ``save``; no content of the file is executed.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    fitted kernel
        A kernel of the class that was saved.

    See Also
    --------
    relaxwl.WeisfeilerLehman.save : Write a kernel to a file.

    Examples
    --------
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
