"""The relaxed kernel as most tests take it: few partitions of optimized centers, and plain counts as features."""

from relaxwl import RelaxedWeisfeilerLehman


def optimized(max_depth=4, n_partitions=3, n_clusters="sqrt", **options):
    """Return a kernel in the setting of the paper, with other options."""
    return RelaxedWeisfeilerLehman(
        max_depth, n_partitions, n_clusters, **{"max_iter": None, "similarity": "dot", **options}
    )
