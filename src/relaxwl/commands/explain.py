"""``relaxwl explain``: a page of the neighborhoods that separate classes, or are associated with a number."""

from argparse import Namespace

from relaxwl.commands.console import Console
from relaxwl.commands.sources import open_source
from relaxwl.explanation import explain
from relaxwl.kernels import RelaxedWeisfeilerLehman
from relaxwl.reports.explorer import write_explorer


def run(arguments: Namespace, console: Console) -> None:
    """Fit the relaxed kernel, explain it, and write the explorer page."""
    source = open_source(arguments.dataset, arguments, console)
    task, y = source.require_targets(arguments.task, console)
    kernel = RelaxedWeisfeilerLehman(
        max_depth=arguments.depth,
        n_partitions=arguments.partitions,
        # Optimized centers are typical of their clusters, which randomly drawn ones need not be.
        n_clusters="sqrt",
        max_iter=None,
        similarity="dot",
        edge_labels=arguments.edge_labels,
        n_jobs=arguments.jobs,
        random_state=arguments.seed,
        verbose=console.verbose,
    )
    console.note(f"{source}\nclustering neighborhoods up to depth {arguments.depth} …")
    with console.bar(source.name):
        explanation = explain(kernel, source.graphs, y, task=task, random_state=arguments.seed)
    console.note("drawing the page …")
    write_explorer(explanation, arguments.output, title=f"Clusters of neighborhoods in {source.name}")
    telling = [cluster for cluster in explanation.clusters if cluster.better_than_chance]
    lines = [
        f"{len(explanation.clusters)} clusters of neighborhoods, {len(telling)} of them {explanation.telling}; "
        f"page written to {arguments.output}"
    ]
    lines += [explanation.quality] if explanation.quality else []
    kind = "class" if explanation.target.values is None else "graphs"
    for cluster in telling[:3]:
        tree = str(cluster.center) if cluster.center.size <= 20 else f"a tree of {cluster.center.size} nodes"
        where = f"depth {cluster.depth}, enriched in {kind} {explanation.classes[cluster.typical_class]}"
        lines.append(f"  {cluster.rank}. {where}: {tree}; {cluster.size:,} nodes of the graphs belong to it")
    console.result(
        "\n".join(lines),
        {"output": arguments.output, "clusters": len(explanation.clusters), "better_than_chance": len(telling)},
    )
