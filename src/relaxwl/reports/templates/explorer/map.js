// A map of the clusters of one depth.
import { C, maps, meta } from "./data.js";
import { button, byId, chip, color, counted, h, percent, svg, touch, wide } from "./elements.js";
import { picture } from "./trees.js";
import { go, state } from "./state.js";
import { bars, mapOf, thumb } from "./cards.js";
import { wander, zoomable } from "./pictures.js";

export function showMap() {
  const section = byId("map");
  section.replaceChildren();
  if (!maps.length) {
    section.append(
      h(
        "p",
        { class: "note" },
        "There is no map: the clusters of this kernel are single trees without distances.",
      ),
    );
    return;
  }
  const own = state.cluster === null ? -1 : mapOf(state.cluster);
  const first = Math.max(
    0,
    maps.findIndex((item) => item.clusters.includes(0)),
  );
  const index = state.map !== null ? state.map : own >= 0 ? own : first,
    map = maps[index];
  const pick = h(
    "select",
    { name: "map", on: { change: () => go({ map: Number(pick.value), cluster: null }) } },
    maps.map((item, i) =>
      h("option", { value: i }, `depth ${item.depth}, partition ${item.partition} (${item.clusters.length} clusters)`),
    ),
  );
  pick.value = index;
  const width = wide() ? 900 : 420,
    margin = wide() ? 44 : 28;
  const [wideX, wideY] = [0, 1].map((at) => Math.max(...map.xy.filter((_, i) => i % 2 === at), 1));
  const unit = Math.min((width - 2 * margin) / wideX, ((width * 2) / 3 - 2 * margin) / wideY);
  const height = Math.max(0.4 * width, 2 * margin + unit * wideY);
  const largest = Math.max(...map.clusters.map((c) => C.size[c]));
  const xs = map.clusters.map((_, i) => width / 2 + (map.xy[2 * i] - wideX / 2) * unit);
  const ys = map.clusters.map((_, i) => height / 2 + (map.xy[2 * i + 1] - wideY / 2) * unit);
  const dots = map.clusters.map((c, i) =>
    svg("circle", {
      class: `dot${C.better[c] ? "" : " weak"}`,
      style: color(C.typical[c]),
      cx: xs[i].toFixed(1),
      cy: ys[i].toFixed(1),
      r: (5 + (wide() ? 21 : 12) * Math.sqrt(C.size[c] / largest)).toFixed(1),
      "data-cluster": c + 1,
    }),
  );
  const order = map.clusters.map((_, i) => i).sort((a, b) => C.size[map.clusters[b]] - C.size[map.clusters[a]]);
  const image = picture(
    width,
    height,
    `Map of ${map.clusters.length} clusters`,
    order.map((i) => dots[i]),
    0,
  );
  const plot = h(
    "div",
    {
      class: "plot",
      tabindex: "0",
      role: "application",
      "aria-label": `Map of ${map.clusters.length} cluster centers. Arrow keys move, Enter opens.`,
    },
    image,
  );
  plot.append(zoomable(image, width, height));
  const panel = h("div", { class: "panel", role: "status" });
  section.append(
    h(
      "form",
      { "aria-label": "Choose a map", on: { submit: (event) => event.preventDefault() } },
      h("label", { class: "field" }, "Clusters of", pick),
    ),
    h(
      "div",
      { class: "mapgrid" },
      h(
        "div",
        {},
        plot,
        h(
          "div",
          { class: "legend" },
          meta.classes.map((_, k) => chip(k)),
          h("span", { class: "chip weak" }, "not significant"),
        ),
        h(
          "p",
          { class: "note" },
          "Each dot is a cluster; its area grows with its number of nodes, its color is the class whose graphs have most nodes in it on average. Clusters with similar centers are near each other.",
        ),
      ),
      panel,
    ),
  );
  preview(panel, null);
  wander(
    plot,
    dots,
    xs,
    ys,
    (i) => preview(panel, map.clusters[i]),
    (i) => go({ view: "clusters", cluster: map.clusters[i], member: 0, map: null }),
    map.clusters.indexOf(state.cluster),
  );
}

function preview(panel, c) {
  if (c === null) {
    panel.replaceChildren(
      h("p", { class: "note" }, touch() ? "Tap a dot." : "Point at a dot, or focus the map and use the arrow keys."),
    );
    return;
  }
  panel.replaceChildren(
    h("h2", {}, `Cluster ${c + 1}`),
    thumb(c),
    C.better[c] ? chip(C.typical[c]) : h("span", { class: "chip weak" }, "not significant"),
    h(
      "p",
      { class: "note" },
      `${counted(C.size[c], "node", "nodes")} in ${counted(C.in_graphs[c], "graph", "graphs")}; ${percent(C.share[c])} of the separation of the classes.`,
    ),
    bars(c),
    button("Open", () => go({ view: "clusters", cluster: c, member: 0, map: null })),
  );
}
