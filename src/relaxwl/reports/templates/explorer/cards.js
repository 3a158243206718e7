// Clusters in short: bars, cards and words.
import { C, maps } from "./data.js";
import { chip, className, color, counted, h } from "./elements.js";
import { outline, picture, place, treeElements } from "./trees.js";
import { go } from "./state.js";

export function bars(c) {
  const largest = Math.max(...C.mean[c], 1e-12);
  return h(
    "div",
    { class: "bars", "aria-hidden": "true", title: "Mean number of its nodes per graph of each class" },
    C.mean[c].slice(0, 8).map((value, k) => h("i", { style: { ...color(k), height: `${(100 * value) / largest}%` } })),
  );
}

export function spoken(c) {
  const verdict = C.better[c] ? `enriched in ${className(C.typical[c])}` : "not significant";
  return `Cluster ${c + 1}, depth ${C.depth[c]}, ${counted(C.size[c], "node", "nodes")}, ${verdict}`;
}

export function card(c) {
  return h(
    "button",
    {
      type: "button",
      "aria-label": spoken(c),
      on: {
        click: () => {
          go({ view: "clusters", cluster: c, member: 0 });
          window.scrollTo({ top: 0 });
        },
      },
    },
    thumb(c),
    h("span", {}, h("strong", {}, `Cluster ${c + 1}`)),
    C.better[c] ? chip(C.typical[c]) : h("span", { class: "chip weak" }, "not significant"),
  );
}

const thumbs = new Map();
export function thumb(c) {
  if (!thumbs.has(c)) {
    // Three branches below a node and three levels are as much as can be told apart at this size.
    const nodes = outline(C.tree[c], 13, 3);
    for (const node of nodes) node.hidden = { before: 0, after: 0 };
    const placed = place(nodes, "after");
    const image = picture(placed.width + 20, placed.height + 20, null, treeElements(placed, "after", 10, 10), 0);
    image.classList.add("thumb");
    thumbs.set(c, image);
  }
  return thumbs.get(c).cloneNode(true);
}

export const mapOf = (c) => maps.findIndex((map) => map.partition === C.partition[c] && map.depth === C.depth[c]);
