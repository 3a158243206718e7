// One graph: evidence for a class, and the clusters in it.
import { C, Called, called, graphs, labels, levels, meta } from "./data.js";
import { button, byId, chip, className, counted, h, toneOf, touch, withSign } from "./elements.js";
import { go, state } from "./state.js";
import { card } from "./cards.js";
import { graphPicture, wander } from "./pictures.js";

const nodeName = (graph, v) => (graph.nodes.length ? graph.nodes[v] : v);

export function showGraphs() {
  const section = byId("graphs");
  section.replaceChildren();
  if (!graphs.length) {
    section.append(h("p", { class: "note" }, "There are no graphs on this page."));
    return;
  }
  const index = state.graph === null ? 0 : state.graph,
    graph = graphs[index];
  const k = state.for === null ? graph.predicted : state.for;
  const pick = h(
    "select",
    { name: "graph", on: { change: () => go({ graph: Number(pick.value), for: null }) } },
    graphs.map((item, i) => h("option", { value: i }, `${called(item.id)}: ${className(item.class)}`)),
  );
  pick.value = index;
  const target = h(
    "select",
    { name: "for", on: { change: () => go({ for: Number(target.value) }) } },
    meta.classes.map((name, i) => h("option", { value: i }, className(i))),
  );
  target.value = k;
  const values = graph.evidence[k],
    mean = values.reduce((a, b) => a + b, 0) / Math.max(1, values.length);
  const largest = Math.max(...values.map((value) => Math.abs(value - mean)), 1e-12);
  const c = state.cluster;
  const level = c === null ? -1 : levels.findIndex(([p, d]) => p === C.partition[c] && d === C.depth[c]);
  const title = `${Called(graph.id)}: ${counted(graph.n, "node", "nodes")}, ${counted(graph.m, "edge", "edges")}`;
  const drawn = graphPicture(
    graph,
    c === null
      ? { tint: (v) => (values[v] - mean) / largest, title, size: 720 }
      : { lit: (v) => graph.node_clusters[level][v] === c, title, size: 720 },
  );
  const info = h("div", { class: "panel", role: "status" });
  const plot = h(
    "div",
    {
      class: "plot",
      tabindex: "0",
      role: "application",
      "aria-label": `${title}. Arrow keys move between nodes.`,
    },
    drawn.image,
  );
  const right = graph.class === graph.predicted;
  section.append(
    h(
      "form",
      { "aria-label": "Choose a graph", on: { submit: (event) => event.preventDefault() } },
      h("label", { class: "field" }, "Graph", pick),
      h("label", { class: "field" }, "Evidence for", target),
    ),
    h(
      "div",
      { class: "mapgrid" },
      h(
        "div",
        {},
        plot,
        c === null
          ? h(
              "p",
              { class: "note" },
              "Evidence of a node, relative to the mean of this graph: against",
              h("span", { class: "ramp", "aria-hidden": "true" }),
              `for ${className(k)}.`,
            )
          : h(
              "p",
              { class: "note" },
              `Highlighted: nodes in cluster ${c + 1}. `,
              button("Show the evidence instead", () => go({ cluster: null })),
            ),
      ),
      h(
        "div",
        {},
        h(
          "div",
          { class: "panel" },
          h("h2", {}, Called(graph.id)),
          h(
            "p",
            {},
            chip(graph.class, ""),
            ` · ${counted(graph.n, "node", "nodes")}, ${counted(graph.m, "edge", "edges")}`,
          ),
          h(
            "p",
            { class: "note" },
            right ? "The model predicts this class." : `The model predicts ${className(graph.predicted)}.`,
          ),
          graph.nodes.length
            ? h(
                "p",
                { class: "note" },
                `Drawn: ${graph.nodes.length} nodes, those with most evidence and their neighbors.`,
              )
            : "",
        ),
        info,
      ),
    ),
    clusterTable(graph, k),
  );
  nodeInfo(info, graph, null, k);
  wander(plot, drawn.circles, drawn.xs, drawn.ys, (v) => nodeInfo(info, graph, v, k), null);
}

function nodeInfo(panel, graph, v, k) {
  if (v === null) {
    panel.replaceChildren(
      h(
        "p",
        { class: "note" },
        touch()
          ? "Tap a node to see the clusters it is in."
          : "Point at a node, or focus the picture and use the arrow keys, to see the clusters it is in.",
      ),
    );
    return;
  }
  const label = graph.labels.length ? `, label ${labels[graph.labels[v]]}` : "";
  const own = levels
    .map((_, level) => graph.node_clusters[level][v])
    .filter((c) => c >= 0)
    .sort((a, b) => a - b)
    .slice(0, 5);
  panel.replaceChildren(
    h("h2", {}, `Node ${nodeName(graph, v)}${label}`),
    h(
      "p",
      { class: "note" },
      `Evidence for ${className(k)}: ${graph.evidence[k][v].toPrecision(2)}. Its most important clusters:`,
    ),
    h("div", { class: "cards" }, own.map(card)),
  );
}

function clusterTable(graph, k) {
  const rows = graph.clusters.filter(([c]) => C.better[c]).slice(0, 15);
  const list = rows.length ? rows : graph.clusters.slice(0, 15);
  const score = graph.scores[k];
  const digits = decimals([score, ...list.map((row) => row[2 + k])]);
  return h(
    "div",
    { class: "scroll" },
    h(
      "h3",
      {},
      rows.length ? "The most important clusters in this graph" : "Clusters in this graph (none is significant)",
    ),
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["Cluster", "", "Nodes here", "Adds to the score", "Depth"].map((text) =>
            h("th", { scope: "col" }, text),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        list.map(([c, count, ...adds]) =>
          h(
            "tr",
            {},
            h(
              "th",
              { scope: "row" },
              h(
                "button",
                {
                  type: "button",
                  class: "link",
                  on: { click: () => go({ view: "clusters", cluster: c, member: 0 }) },
                },
                `Cluster ${c + 1}`,
              ),
            ),
            h(
              "td",
              {},
              button(state.cluster === c ? "highlighted" : "highlight", () => go({ cluster: state.cluster === c ? null : c }), {
                "aria-pressed": String(state.cluster === c),
              }),
            ),
            h("td", {}, count),
            h("td", { class: toneOf(adds[k]) }, withSign(adds[k], digits)),
            h("td", {}, C.depth[c]),
          ),
        ),
      ),
      h("tfoot", {}, sumRows(graph, k, list, digits)),
    ),
    h("p", { class: "note" }, "The model chooses the class with the largest score."),
  );
}

/* As many decimals as give the largest of some numbers three digits. */
function decimals(numbers) {
  const largest = Math.max(...numbers.map(Math.abs), 1e-12);
  return Math.max(0, Math.min(8, 2 - Math.floor(Math.log10(largest))));
}

/* What the clusters of a list lack to the score. The rest is taken from the numbers as they are shown, so that these
   add up. */
function sumRows(graph, k, list, digits) {
  const shown = (number) => Number(number.toFixed(digits));
  const score = shown(graph.scores[k]),
    intercept = shown(meta.intercept[k]),
    others = graph.n_clusters - list.length;
  const rest = shown(list.reduce((left, row) => left - shown(row[2 + k]), score - intercept));
  const line = (words, value) =>
    h(
      "tr",
      {},
      h("th", { scope: "row", colspan: 3 }, words),
      h("td", { class: toneOf(value) }, withSign(value, digits)),
      h("td", {}),
    );
  const remainder = others ? `${counted(others, "other cluster", "other clusters")} in this graph` : "Rounding";
  return [
    others || rest ? line(remainder, rest) : null,
    line("Intercept of the model, the same for every graph", intercept),
    line(`Sum: the score of ${className(k)}`, score),
  ];
}
