// What is shown: kept in the part of the address behind the #.
import { C, N, graphs, labels, maps, meta } from "./data.js";
import { byId, wide } from "./elements.js";

export const SORTS = {
  rank: ["importance", null],
  share: ["share of the separation", (a, b) => C.share[b] - C.share[a]],
  size: ["number of nodes", (a, b) => C.size[b] - C.size[a]],
  effect: ["effect of the class", (a, b) => C.effect[b] - C.effect[a]],
  depth: ["depth", (a, b) => C.depth[a] - C.depth[b]],
  tree: ["size of the center", (a, b) => C.nodes[a] - C.nodes[b]],
};
export const state = {};
// The list as filtered and sorted, and the place in it that the keys move.
export const listed = { clusters: [], active: 0, focusDetail: false };
export function parsed() {
  const values = new URLSearchParams(location.hash.slice(1));
  const number = (name, limit) => {
    const value = values.get(name);
    return value !== null && /^\d+$/.test(value) && Number(value) < limit ? Number(value) : null;
  };
  const view = values.get("view");
  const rank = number("cluster", N + 1);
  return {
    view: view === "map" || view === "graphs" ? view : "clusters",
    cluster: rank ? rank - 1 : null,
    depth: number("depth", 1000),
    partition: number("partition", 1000),
    class: number("class", meta.classes.length),
    label: number("label", labels.length),
    better: values.get("better") === "1",
    sort: values.get("sort") in SORTS ? values.get("sort") : "rank",
    member: number("member", 1000) || 0,
    map: number("map", maps.length),
    graph: number("graph", graphs.length),
    for: number("for", meta.classes.length),
  };
}

function hashOf(next) {
  const values = new URLSearchParams();
  for (const [name, value] of Object.entries(next)) {
    if (
      value === null ||
      value === false ||
      (name === "view" && value === "clusters") ||
      (name === "sort" && value === "rank") ||
      (name === "member" && !value)
    )
      continue;
    values.set(name, name === "cluster" ? value + 1 : value === true ? 1 : value);
  }
  return `#${values}`;
}

export function go(changes, replace) {
  const target = hashOf({ ...state, ...changes });
  if (target === (location.hash || "#")) return;
  if (replace) {
    location.replace(target);
  } else location.hash = target;
}

/* The cluster that is shown: the one asked for, or where there is room the first of the list. */
export const opened = () =>
  state.cluster !== null ? state.cluster : wide() && listed.clusters.length ? listed.clusters[0] : null;

/* Put the focus where the opened cluster begins. */
export const focusHeading = () => {
  listed.focusDetail = false;
  const head = byId("detail").querySelector("h2");
  if (head) head.focus();
};
