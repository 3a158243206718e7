"""Every kernel by name, with the settings that the evaluation protocol tries: what the command line speaks of."""

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from relaxwl.kernels.base import CountKernel, GraphKernel

Settings = dict[str, Any]
Variant = tuple[Settings, GraphKernel]

# The paper does not say whether it normalises. Where graphs differ much in size it helps; elsewhere it does no harm.
NORMALIZED: tuple[Settings, ...] = ({"normalize": True},)
# Multiples of the square root of the number of rows: the numbers of clusters of rwl-auto. The many partitions of the
# mixture come largest first, so that no worker is left with a long one at the end.
AUTO_CLUSTERS = (4.0, 2.0, 1.0, 0.5)
AUTO_MIXTURE = {"n_clusters": AUTO_CLUSTERS, "n_partitions": 24}


@dataclass(frozen=True)
class KernelEntry:
    """A kernel as users and tables name it, and what model selection chooses from.

    Attributes
    ----------
    name : str
        Name on the command line.
    title : str
        Name in tables.
    description : str
        One line.
    location : str
        Module and class, imported on first use: a kernel that is not asked for costs nothing.
    fixed : dict
        Parameters that are the same in every variant.
    grid : tuple of dict
        Settings that need a fit of their own; what one fit covers comes from the kernel's ``fit_candidates``.
    depths : tuple of int, optional
        The depths among the kernel's candidates that the protocol chooses from; None: all candidates.
    """

    name: str
    title: str
    description: str
    location: str
    fixed: Settings
    grid: tuple[Settings, ...] = ({},)
    depths: tuple[int, ...] | None = None

    def kernel_class(self) -> Callable[..., GraphKernel]:
        """Import and return the class."""
        module, name = self.location.split(":")
        return getattr(import_module(module), name)  # type: ignore[no-any-return]

    def make(
        self,
        random_state: Any = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        **settings: Any,
    ) -> GraphKernel:
        """Return the kernel with its fixed parameters, the given settings, and those of the rest that it knows."""
        kernel_class = self.kernel_class()
        known = inspect.signature(kernel_class).parameters
        shared = {"random_state": random_state, "n_jobs": n_jobs, "time_limit": time_limit}
        given = {name: value for name, value in shared.items() if name in known}
        return kernel_class(**{**self.fixed, **given, **settings})

    def variants(
        self, random_state: Any = None, n_jobs: int | None = None, time_limit: float | None = None
    ) -> list[Variant]:
        """Return the settings that need separate fits, each with its kernel, not yet fitted."""
        return [(dict(settings), self.make(random_state, n_jobs, time_limit, **settings)) for settings in self.grid]


def _entry(name: str, title: str, description: str, location: str, **more: Any) -> KernelEntry:
    return KernelEntry(name, title, description, f"relaxwl.kernels.{location}", **{"fixed": {}, **more})


_RELAXED = "relaxed:RelaxedWeisfeilerLehman"

ENTRIES = (
    _entry(
        "ve-hist",
        "VE-Hist",
        "histograms of vertex labels and edge labels, linear or Gaussian",
        "baselines.ve_hist:VertexEdgeHistogram",
    ),
    _entry(
        "wl",
        "WL",
        "Weisfeiler-Lehman subtree kernel, depths 1 to 5",
        "wl:WeisfeilerLehman",
        fixed={"max_depth": 5},
        depths=(1, 2, 3, 4, 5),
    ),
    _entry(
        "gs",
        "GS",
        "graphlet sampling, graphlets of up to 3, 4 or 5 vertices",
        "baselines.graphlet_sampling:GraphletSampling",
        fixed={"epsilon": 0.1, "delta": 0.1},
        grid=({"max_size": 3}, {"max_size": 4}, {"max_size": 5}),
    ),
    _entry("sp", "SP", "shortest-path kernel", "baselines.shortest_path:ShortestPath"),
    _entry(
        "odd-sth",
        "ODD-STh",
        "ordered-decomposition trees of height 1 to 4 (needs GraKeL)",
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
        depths=(5,),
    ),
    _entry(
        "wl-oa",
        "WL-OA",
        "Weisfeiler-Lehman optimal assignment, depths 1 to 5",
        "baselines.wl_oa:WLOptimalAssignment",
        fixed={"max_depth": 5},
        depths=(1, 2, 3, 4, 5),
    ),
    _entry(
        "rwl",
        "R-WL",
        "relaxed Weisfeiler-Lehman kernel under exact tree distances, depths 1 to 4",
        _RELAXED,
        fixed={"max_depth": 4, "n_partitions": 3, "approximate": False},
        grid=NORMALIZED,
        depths=(1, 2, 3, 4),
    ),
    _entry(
        "rwl-star",
        "R-WL*",
        "relaxed Weisfeiler-Lehman kernel on chains of clusters, depths 1 to 4",
        _RELAXED,
        fixed={"max_depth": 4, "n_partitions": 3},
        grid=NORMALIZED,
        depths=(1, 2, 3, 4),
    ),
    _entry(
        "rwl-auto",
        "R-WL* auto",
        "R-WL* with numbers of clusters (one, or a mixture), partitions, depth and similarity chosen by inner folds",
        "relaxed:SelectedRelaxedWeisfeilerLehman",
        fixed={"max_depth": 4, "n_partitions": 3, "normalize": "depth"},
        grid=(AUTO_MIXTURE, *({"n_clusters": factor} for factor in AUTO_CLUSTERS)),
        depths=(1, 2, 3, 4),
    ),
)

_BY_NAME = {entry.name: entry for entry in ENTRIES}


def kernel_names() -> list[str]:
    """Return the names of all kernels, in the order of the tables."""
    return [entry.name for entry in ENTRIES]


def get_kernel(name: str) -> KernelEntry:
    """Return the entry of a kernel.

    >>> get_kernel("gs").title
    'GS'
    >>> [settings for settings, kernel in get_kernel("gs").variants(random_state=0)]
    [{'max_size': 3}, {'max_size': 4}, {'max_size': 5}]
    """
    try:
        return _BY_NAME[name]
    except KeyError:
        raise ValueError(f"no kernel is called {name!r}; the names are {', '.join(kernel_names())}") from None


def import_kernels() -> None:
    """Import the classes of all kernels, so that each can be found among the subclasses of its base class."""
    for entry in ENTRIES:
        entry.kernel_class()


def load_kernel(path: str | os.PathLike[str]) -> CountKernel:
    """Read a fitted kernel of any class from the file that its ``save`` wrote; nothing in the file is executed.

    >>> from tempfile import TemporaryDirectory
    >>> from relaxwl import GraphCollection
    >>> graphs = GraphCollection.from_edges([(3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)])])
    >>> with TemporaryDirectory() as folder:
    ...     get_kernel("sp").make().fit(graphs).save(f"{folder}/model.rwl")
    ...     load_kernel(f"{folder}/model.rwl")
    ShortestPath()
    """
    return CountKernel.load(path)
