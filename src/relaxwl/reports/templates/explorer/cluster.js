// One cluster: its center, classes, members, and where it is found.
import { C, DELETED, INSERTED, RELABELED, Called, called, graphs, levels, meta } from "./data.js";
import {
  button,
  byId,
  chip,
  className,
  color,
  counted,
  h,
  percent,
  short,
  signed,
  svg,
  toneOf,
  whole,
} from "./elements.js";
import { canvas, mappingOutline, mappingPicture, outline, picture, place, treeElements } from "./trees.js";
import { go, listed, opened, state } from "./state.js";
import { card, mapOf } from "./cards.js";
import { graphPicture } from "./pictures.js";
import { reveal } from "./list.js";

function fact(value, words) {
  return h("li", {}, h("strong", {}, value), h("span", {}, words));
}

export function showDetail() {
  const c = opened(),
    detail = byId("detail");
  detail.replaceChildren();
  if (c === null) {
    if (!listed.clusters.length) detail.append(h("p", { class: "note" }, "No cluster has all of these properties."));
    return;
  }
  const at = listed.clusters.indexOf(c);
  const step = (by) => () => {
    listed.active = at + by;
    reveal(listed.active);
    go({ cluster: listed.clusters[listed.active], member: 0 }, true);
  };
  detail.append(
    h(
      "div",
      { class: "head" },
      h("h2", { tabindex: "-1" }, `Cluster ${c + 1}`, C.better[c] ? `: enriched in ${className(C.typical[c])}` : ""),
      h(
        "div",
        { class: "tools" },
        button("← All clusters", close, { class: "tool back" }),
        button("↑", step(-1), { "aria-label": "Previous cluster", disabled: at <= 0 }),
        button("↓", step(1), { "aria-label": "Next cluster", disabled: at < 0 || at >= listed.clusters.length - 1 }),
        mapOf(c) >= 0 ? button("On the map", () => go({ view: "map", cluster: c, map: mapOf(c) })) : "",
      ),
    ),
    C.better[c]
      ? ""
      : h(
          "p",
          { class: "warning" },
          `Not significant: with permuted classes, some cluster is as good in ${percent(C.p[c])} of the cases.`,
        ),
    h(
      "ul",
      { class: "facts" },
      fact(percent(C.share[c]), "of the separation of the classes"),
      fact(`p = ${short(C.p[c])}`, `permutation test, corrected for all clusters`),
      fact(whole(C.size[c]), `nodes, in ${counted(C.in_graphs[c], "graph", "graphs")}`),
      fact(String(C.depth[c]), `depth, in partition ${C.partition[c]}`),
    ),
    h("div", { class: "pair" }, centerFigure(c), classTable(c)),
    memberSection(c),
    graphSection(c),
    nearSection(c),
  );
}

function centerFigure(c, limit = 45) {
  const title = `Center of cluster ${c + 1}: a tree of ${counted(C.nodes[c], "node", "nodes")}, depth ${C.depth[c]}`;
  const nodes = outline(C.tree[c], limit),
    placed = place(nodes, "after");
  const cut = nodes.some((node) => node.hidden.after);
  const image = picture(placed.width + 20, placed.height + 20, title, treeElements(placed, "after", 10, 10), 0.55);
  const figure = h(
    "figure",
    { class: placed.width > 560 ? "across" : null },
    h("h3", {}, meta.has_centers ? "The center" : "The tree"),
    canvas(image, "Center tree"),
    h(
      "figcaption",
      {},
      `${counted(C.nodes[c], "node", "nodes")}; equal branches are drawn once. `,
      cut && limit < 1000 ? button("Draw more of it", () => figure.replaceWith(centerFigure(c, limit * 5))) : "",
    ),
  );
  return figure;
}

function classTable(c) {
  const largest = Math.max(...C.mean[c], 1e-12);
  return h(
    "div",
    { class: "scroll" },
    h("h3", {}, "By class"),
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["Class", "Nodes per graph", "Graphs with it", "Weight"].map((text) =>
            h("th", { scope: "col" }, text),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        meta.classes.map((name, k) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, h("span", { class: "chip", style: color(k) }, name)),
            h(
              "td",
              { class: "bar" },
              h(
                "div",
                { class: "meter" },
                h("i", { style: { ...color(k), width: `${(56 * C.mean[c][k]) / largest}%` } }),
                h("span", {}, C.mean[c][k] > 0 && C.mean[c][k] < 0.01 ? "< 0.01" : C.mean[c][k].toFixed(2)),
              ),
            ),
            h("td", {}, percent(C.presence[c][k])),
            h("td", { class: toneOf(C.weight[c][k]) }, signed(C.weight[c][k])),
          ),
        ),
      ),
    ),
    h(
      "p",
      { class: "note" },
      "Nodes per graph are means; the cluster is named after the class with the largest mean. Positive weights are evidence for a class, negative ones against it, given all other clusters, so a weight can differ from what the means suggest.",
    ),
  );
}

function memberSection(c) {
  const members = C.members[c];
  if (!members.length) return "";
  const chosen = Math.min(state.member, members.length - 1);
  const [, graph, node, distance, alike, cost, depth, overlay, words] = members[chosen];
  const seats = [0, 0];
  const choices = members.map((member, i) => {
    seats[member[0]]++;
    return button(
      `${member[0] ? "farthest" : "nearest"} ${seats[member[0]]}`,
      () => go({ cluster: c, member: i }, true),
      { "aria-pressed": String(i === chosen), "data-member": i },
    );
  });
  const title = `Mapping from the member to the center, ${short(cost)} edits: ${words}`;
  const partly =
    depth < C.depth[c]
      ? ` Compared down to depth ${depth} of ${C.depth[c]}: the whole trees are too large to be read.`
      : "";
  const others = alike > 1 ? ` ${whole(alike)} nodes have the same tree.` : "";
  const measured = meta.has_centers ? `, at distance ${short(distance)} as the kernel measures it` : "";
  const why =
    meta.has_centers && !partly && Math.abs(distance - cost) > 1e-6 * Math.max(1, cost)
      ? " The two differ because the kernel compares clusters of smaller neighborhoods, the drawing whole trees."
      : "";
  const equal = words === "no difference";
  const edits = counted(cost, "edit", "edits").replace(String(cost), short(cost));
  const apart = equal ? "" : `; the trees drawn here are ${edits} apart`;
  const nodes = mappingOutline(overlay);
  return h(
    "section",
    { "aria-label": "Members" },
    h("h3", {}, "Members, nearest to and farthest from the center"),
    h("div", { class: "choices", role: "group", "aria-label": "Choose a member" }, choices),
    h(
      "p",
      {},
      h("strong", {}, equal ? "The center is the same tree." : `Edits from the member to the center: ${words}.`),
      ` Node ${node} of ${called(graph)}${measured}${apart}.${why}${others}${partly}`,
    ),
    h("figure", {}, canvas(mappingPicture(nodes, title), "Mapping"), stateLegend(nodes)),
  );
}

function stateLegend(nodes) {
  const present = new Set(nodes.map((node) => node.state));
  const part = nodes.some((node) => node.hidden.before || node.hidden.after);
  const mark = (name) =>
    svg(
      "svg",
      { class: "rwl", width: 14, height: 14, viewBox: "0 0 14 14", "aria-hidden": "true" },
      svg("circle", { class: `node ${name}`, cx: 7, cy: 7, r: 6 }),
    );
  const entries = [
    [RELABELED, "relabeled"],
    [DELETED, "deleted"],
    [INSERTED, "inserted"],
  ].filter(([code]) => present.has(code));
  return h(
    "figcaption",
    { class: "legend" },
    entries.map(([, name]) => h("span", {}, mark(name), ` ${name}`)),
    h("span", {}, "- - -  mapped to each other"),
    part ? h("span", {}, "… +5: five more nodes below, not drawn") : "",
  );
}

function graphSection(c) {
  const level = levels.findIndex(([p, d]) => p === C.partition[c] && d === C.depth[c]);
  const each = Math.max(1, Math.floor(8 / meta.classes.length));
  const chosen = [];
  meta.classes.forEach((_, k) => {
    const own = graphs
      .map((graph, i) => [countIn(graph, c), i])
      .filter(([count, i]) => count > 0 && graphs[i].class === k);
    chosen.push(...own.sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, each));
  });
  if (!chosen.length) return h("p", { class: "note" }, "None of the graphs on this page has a node in this cluster.");
  return h(
    "section",
    { "aria-label": "Graphs with this cluster" },
    h("h3", {}, "Where it is found"),
    h(
      "p",
      { class: "note" },
      `Nodes in this cluster are highlighted. Of the ${graphs.length} graphs on this page, those of each class with most nodes in it.`,
    ),
    h(
      "div",
      { class: "grid" },
      chosen.slice(0, 12).map(([count, i]) =>
        h(
          "button",
          { type: "button", on: { click: () => go({ view: "graphs", graph: i, cluster: c }) } },
          graphPicture(graphs[i], {
            lit: (v) => graphs[i].node_clusters[level][v] === c,
            title: `${Called(graphs[i].id)}, ${count} nodes lit`,
          }).image,
          chip(graphs[i].class, ` · ${called(graphs[i].id)}`),
          h("span", { class: "note" }, `${count} of ${counted(graphs[i].n, "node", "nodes")}`),
        ),
      ),
    ),
  );
}

const countIn = (graph, c) => {
  const entry = graph.clusters.find((item) => item[0] === c);
  return entry ? entry[1] : 0;
};

function nearSection(c) {
  if (!C.near[c].length) return "";
  return h(
    "section",
    { "aria-label": "Similar clusters" },
    h("h3", {}, "Most similar clusters of the same depth and partition"),
    h("div", { class: "cards" }, C.near[c].map(card)),
  );
}

export function close() {
  go({ cluster: null, member: 0 });
  byId("list").focus();
}
