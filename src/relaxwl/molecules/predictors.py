"""Predictors of properties of molecules: they read SMILES and use chemical views in addition to those of graphs."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np

from relaxwl._memory import check_memory
from relaxwl._validation import ParameterError, check_flag, check_integer
from relaxwl.datasets.smiles import AtomLabels, AtomStyle, MoleculeError, from_rdkit, standardized_or_not, written
from relaxwl.kernels import RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.molecules.descriptors import KINDS, Descriptors
from relaxwl.molecules.fingerprints import ATOMS, MorganFingerprints, StructuralKeys
from relaxwl.molecules.reading import as_molecules
from relaxwl.molecules.scaffolds import duplicates
from relaxwl.predictors import GraphClassifier, GraphRegressor
from relaxwl.predictors.base import GraphPredictor
from relaxwl.predictors.report import FitReport
from relaxwl.predictors.targets import Target
from relaxwl.predictors.views import CountView, Objects, VectorView, View, as_table, extra_view

VIEWS = ("wl", "relaxed", "descriptors", "fingerprints")
# Maximum depth of kernels for linear models and of kernels with equal weights, and maximum number of partitions for
# linear models.
PLAIN_DEPTH, LINEAR_PARTITIONS = 3, 6
# Number of molecules of shards whose labels are compared with those of the predictor's options.
N_COMPARED = 20
# Maximum number of atoms of molecules that are explained by predictions without each atom, which take seconds.
MAX_EXPLAINED = 200
# Squared widths of the descriptors' kernels, in units of the median squared distance; weighted by the likelihood.
WIDTHS = (0.25, 1.0, 4.0, 16.0)
# Squared widths of additional kernels on each kind of descriptors, whose effects may be additive.
KIND_WIDTHS = (1.0, 4.0)
# Squared widths of the kernels whose mean is the one of descriptors among kernels with equal weights.
EQUAL_WIDTHS = (0.25, 1.0, 4.0)


class MoleculePredictor(GraphPredictor):
    """Base class of predictors of molecules: reading of molecules, and their views."""

    things, nodes = "molecules", "atoms"
    _learns_from = 20_000

    def __init__(
        self,
        views: Sequence[str] = VIEWS,
        max_depth: int = 4,
        n_partitions: int = 30,
        atom_labels: AtomLabels = "element",
        stereo: bool = False,
        standardize: bool = False,
        scoring: str | None = None,
        calibration: str = "cv",
        skip_targets: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.views = views
        self.max_depth = max_depth
        self.n_partitions = n_partitions
        self.atom_labels = atom_labels
        self.stereo = stereo
        self.standardize = standardize
        self.scoring = scoring
        self.calibration = calibration
        self.skip_targets = skip_targets
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        check_integer("max_depth", self.max_depth, least=1)
        check_integer("n_partitions", self.n_partitions, least=1)
        check_flag("stereo", self.stereo)
        check_flag("standardize", self.standardize)
        if not isinstance(self.atom_labels, (str, list, tuple)) and not callable(self.atom_labels):
            raise ValueError(f"atom_labels must be a text, a list of texts or a function, not {self.atom_labels!r}")
        AtomStyle.of(self.atom_labels, stereo=self.stereo)
        known = isinstance(self.views, (list, tuple)) and self.views and all(name in VIEWS for name in self.views)
        if not known:
            raise ValueError(f"views must be some of {', '.join(VIEWS)}, not {self.views!r}")

    def _objects(self, X: Any, extra: Any, directed: bool | None = None) -> Objects:
        molecules = as_molecules(X, self.n_jobs)
        if self.standardize:
            molecules = [_standardized(*one) for one in enumerate(molecules)]
        table = None if extra is None else as_table(extra, len(molecules))
        graphs = from_rdkit(molecules, atom_labels=self.atom_labels, stereo=self.stereo, n_jobs=self.n_jobs)
        return Objects(graphs, table, molecules)

    def _explainable(self, X: Any) -> Any:
        """Return the molecules; raise an error for one with more atoms than can be left out in turn."""
        molecules = as_molecules(X, self.n_jobs)
        for index, molecule in enumerate(molecules):
            n_atoms = molecule.GetNumAtoms()
            if n_atoms > MAX_EXPLAINED and self._compares():
                problem = f"{n_atoms} atoms, and molecules with at most {MAX_EXPLAINED} are explained"
                raise MoleculeError(index, written([molecule])[0], problem)
        return molecules

    def _contents(self, objects: Objects) -> Any:
        texts = (f"{self._seed} {text}".encode() for text in written(objects.molecules or ()))
        return np.array([int.from_bytes(blake2b(text, digest_size=7).digest(), "big") for text in texts], np.int64)

    def _find_copies(self, objects: Objects) -> Any:
        found = duplicates(objects.molecules)
        return found if len(np.unique(found)) < len(found) else None

    def _report(self, head: Any, target: Target) -> FitReport:
        """Add a note on molecules that occur more than once, and on the spread of their targets."""
        report = super()._report(head, target)
        if self._copies is None:
            return report
        _, places, sizes = np.unique(self._copies[target.rows], return_inverse=True, return_counts=True)
        n_copied = int((sizes > 1).sum())
        if not n_copied:
            return report
        ordered, starts = target.values[np.argsort(places, kind="stable")], np.cumsum(sizes) - sizes
        spreads = (np.maximum.reduceat(ordered, starts) - np.minimum.reduceat(ordered, starts))[sizes > 1]
        differ = (
            f"{int((spreads > 0).sum())} of them with different classes"
            if target.classes is not None
            else f"whose targets differ by {np.median(spreads):.3g} (median) and {spreads.max():.3g} (maximum)"
        )
        note = f"{n_copied} molecules occur more than once, {differ}; copies are left out of a fit together"
        return replace(report, warnings=(*report.warnings, note))

    def _check_shards(self, shards: Any) -> None:
        if self.standardize:
            raise ParameterError("standardize=True is not supported on shards; write standardized molecules")
        self._copies = None
        first = shards[0][:N_COMPARED]
        again = from_rdkit(as_molecules(first), atom_labels=self.atom_labels, stereo=self.stereo)
        if [graph.node_labels for graph in again] != [graph.node_labels for graph in first]:
            raise ParameterError(
                f"the shards were not written with atom_labels={self.atom_labels!r} and stereo={self.stereo}; give the "
                "predictor those of the shards, or write them again"
            )

    def _views(self, objects: Objects, large: bool = False) -> tuple[list[View], list[str]]:
        """Return the views; if kernels are not weighted, fewer of them, and with smaller depths.

        This is the case for linear models on features, and for the single Gram matrix that classifies many molecules.
        """
        many = not large and self._are_many(len(objects))
        equal = many and self._task == "classification"
        plain = large or equal
        depth, jobs = min(self.max_depth, PLAIN_DEPTH) if plain else self.max_depth, self.n_jobs
        common: dict[str, Any] = {
            "edge_labels": True, "n_jobs": jobs, "similarity": "dot" if large else "tanimoto",
        }  # fmt: skip
        # Many cheap partitions are better and faster than few good ones, so there are no rounds of k-means.
        relaxed = RelaxedWeisfeilerLehman(
            depth, min(self.n_partitions, LINEAR_PARTITIONS) if large else self.n_partitions, "sqrt",
            max_iter=0, normalize="depth" if large else False, random_state=self._seed, **common,
        )  # fmt: skip
        depths = [depth] if plain else [one for one in dict.fromkeys((1, 2, depth)) if one <= depth]
        settings = ({},) if large else tuple({"max_depth": one} for one in depths)
        made: dict[str, list[View]] = {}
        for name, title, kernel, block in (
            ("wl", "WL", WeisfeilerLehman(depth, normalize=large, **common), "exact"),
            ("relaxed", "R-WL*", relaxed, "fine"),
        ):
            blocks = (block,) if large else tuple(f"{title}, depth {one}" for one in depths)
            made[name] = [CountView(title, kernel, settings, blocks)]
        # For many molecules, kernels of descriptors are exponential, which are less smooth than Gaussian kernels.
        kernels: list[Any] = [(None, None)] if large else [(None, width) for width in EQUAL_WIDTHS if equal]
        if not plain:
            kernels = [(None, width) for width in WIDTHS] + [(kind, width) for kind in KINDS for width in KIND_WIDTHS]
        called = (f"descriptors{f' of {kind}' if kind else ''}, width {width:g}" for kind, width in kernels if width)
        scaler, names = Descriptors(n_jobs=jobs), ("descriptors",) * len(kernels) if plain else tuple(called)
        made["descriptors"] = [VectorView("descriptors", scaler, tuple(kernels), names, "molecules", many)]
        made["fingerprints"] = [
            CountView(
                f"Morgan counts of {atoms}", MorganFingerprints(2, atoms, jobs, large), ({},),
                ("fingerprints" if large else f"Morgan counts of {atoms}, radius 2",), "molecules",
            )
            for atoms in ATOMS
        ]  # fmt: skip
        if equal:  # they improve the classification of many molecules, and change no regression
            keys = StructuralKeys(jobs)
            made["fingerprints"].append(CountView("MACCS keys", keys, ({},), ("MACCS keys",), "molecules"))
        # In addition to WL, relaxed kernels change models of many molecules little and cost more than all other views.
        without = plain and {"wl", "relaxed"} <= set(self.views)
        chosen = [name for name in VIEWS if name in self.views and not (without and name == "relaxed")]
        views = [view for name in chosen for view in made[name]]
        views += [extra_view()] if objects.extra is not None else []
        if plain:
            notes = ["R-WL*, which adds little to WL on molecules"] if without else []
            if depth < self.max_depth and not {"wl", "relaxed"}.isdisjoint(self.views):
                notes.append(f"depths above {depth}: models of many molecules take shallow trees")
            if large and "relaxed" in chosen and self.n_partitions > LINEAR_PARTITIONS:
                notes.append(
                    f"{self.n_partitions - LINEAR_PARTITIONS} of {self.n_partitions} partitions: linear models take few"
                )
            return views, [self._no_matrices(len(objects)), *notes] if large else notes
        n_kernels = sum(len(view.blocks) for view in views)
        if not many:
            check_memory(
                (n_kernels + 3) * 8.0 * len(objects) ** 2,
                f"{n_kernels} kernel matrices of {len(objects)} molecules",
                "fit on fewer molecules, or with fewer views",
            )
        return views, []


def _standardized(index: int, molecule: Any) -> Any:
    found, problem = standardized_or_not(molecule)
    if problem:
        raise MoleculeError(index, written([molecule])[0], problem)
    return found


class MoleculeRegressor(MoleculePredictor, GraphRegressor):
    """Predict a number for each molecule, with its uncertainty, by a Gaussian process on several kernels.

    Molecules are compared by the Weisfeiler-Lehman kernel (WL), by relaxed kernels (R-WL*), by RDKit descriptors and by
    Morgan counts, each at several scales. The weights of the kernels maximize the marginal likelihood of the training
    molecules. With more than 5,000 molecules the kernels of descriptors are exponential, with columns weighted by the
    gradients of a first regression, and the weights of the kernels are learned from 1,500 molecules. Of more than
    20,000 a sample of this size is learned from. Models of shards are ridge regressions on explicit features. Needs
    RDKit (``pip install relaxwl[chem]``).

    Parameters
    ----------
    views : sequence of str, default=("wl", "relaxed", "descriptors", "fingerprints")
        Which of "wl", "relaxed", "descriptors" and "fingerprints" to use.
    max_depth : int, default=4
        Depth of the largest trees of the graph kernels; depths 1 and 2 are used too.
    n_partitions : int, default=30
        Number of random partitions of R-WL*.
    atom_labels : str, sequence of str, or callable, default="element"
        Labels of atoms; see :func:`relaxwl.molecules.from_smiles`.
    stereo : bool, default=False
        Whether labels of atoms and bonds include chirality and E/Z configuration (descriptors and fingerprints ignore
        them).
    standardize : bool, default=False
        Whether to replace each molecule by its largest fragment, neutralized, in fitting and prediction.
    scoring : str, optional
        Score used for model selection, as in :class:`relaxwl.GraphRegressor`.
    calibration : {"cv", "split"}, default="cv"
        Calibration of :meth:`predict_interval`, as in :class:`relaxwl.GraphRegressor`.
    skip_targets : bool, default=False
        Treatment of targets that cannot be learned, as in :class:`relaxwl.GraphClassifier`.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    random_state : int, Generator or None, default=None
        Seeds the partitions of R-WL*.
    verbose : int, default=0
        1 logs progress.

    Attributes
    ----------
    kernel_weights_ : dict
        The weight of each kernel in the covariance, in units of the squared target (beyond 5,000 objects
        as shares of the sum).
    report_ : FitReport
        Leave-one-out error, error of the mean predictor, and weights of the kernels; print it.

    See Also
    --------
    MoleculeClassifier : Predict classes instead of numbers.
    relaxwl.GraphRegressor : The same for graphs.

    Examples
    --------
    >>> smiles = ["C", "CC", "CCC", "CCCC", "CCO", "CCCO", "CCCCO", "CO"]
    >>> carbons = [1, 2, 3, 4, 2, 3, 4, 1]
    >>> model = MoleculeRegressor(random_state=0).fit(smiles, carbons)
    >>> mean, std = model.predict(["CC(C)O"], return_std=True)
    >>> bool(abs(mean[0] - 3) < 2 * std[0])
    True
    """


class MoleculeClassifier(MoleculePredictor, GraphClassifier):
    """Predict a class for each molecule, with probabilities.

    The views and kernels are those of :class:`MoleculeRegressor`. For each class a Gaussian process is fitted to
    membership (1 or -1), and probabilities are calibrated on its leave-one-out predictions, which have a closed form.
    With more than 5,000 molecules there are other kernels (WL to depth 3, exponential kernels of descriptors, Morgan
    counts, MACCS keys), with equal weights, and probabilities are calibrated on out-of-fold predictions; relaxed
    kernels are used only without "wl". Of more than 20,000 molecules a sample of this size is learned from, with all of
    rare classes. Models of shards are linear SVMs on explicit features.

    Parameters
    ----------
    views : sequence of str, default=("wl", "relaxed", "descriptors", "fingerprints")
        Which of "wl", "relaxed", "descriptors" and "fingerprints" to use.
    max_depth : int, default=4
        Depth of the largest trees of the graph kernels.
    n_partitions : int, default=30
        Number of random partitions of R-WL*.
    atom_labels : str, sequence of str, or callable, default="element"
        Labels of atoms; see :func:`relaxwl.molecules.from_smiles`.
    stereo : bool, default=False
        Whether labels of atoms and bonds include chirality and E/Z configuration.
    standardize : bool, default=False
        Whether to replace each molecule by its largest fragment, neutralized.
    scoring : str, optional
        Score used for model selection, as in :class:`relaxwl.GraphClassifier`.
    calibration : {"cv", "split"}, default="cv"
        Calibration of :meth:`predict_set`, as in :class:`relaxwl.GraphClassifier`.
    skip_targets : bool, default=False
        Treatment of targets that cannot be learned, as in :class:`relaxwl.GraphClassifier`.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    random_state : int, Generator or None, default=None
        Seeds the partitions of R-WL*.
    verbose : int, default=0
        1 logs progress.

    Attributes
    ----------
    classes_ : array
        The classes.
    kernel_weights_ : dict
        The weight of each kernel, the mean over the classes (with more than 5,000 molecules equal shares).

    See Also
    --------
    MoleculeRegressor : Predict numbers instead of classes.
    relaxwl.GraphClassifier : The same for graphs.

    Examples
    --------
    >>> smiles = ["C", "CC", "CCC", "CCCC", "CO", "CCO", "CCCO", "CCCCO"]
    >>> model = MoleculeClassifier(random_state=0).fit(smiles, ["alkane"] * 4 + ["alcohol"] * 4)
    >>> model.predict(["CCCCC", "CCCCCO"]).tolist()
    ['alkane', 'alcohol']
    """

    _learns_weights = False
