// The whole page: what is shown follows the address.
import { byId, wide } from "./elements.js";
import { focusHeading, go, listed, opened, parsed, state } from "./state.js";
import { buildFilters, listKeys, reveal, showFilters, showList, showRows } from "./list.js";
import { close, showDetail } from "./cluster.js";
import { showGraphs } from "./graphs.js";
import { showMap } from "./map.js";

const LIST_KEYS = ["depth", "partition", "class", "label", "better", "sort"];

function show() {
  const before = { ...state };
  Object.assign(state, parsed());
  document.body.dataset.view = state.view;
  document.body.toggleAttribute("data-open", state.cluster !== null);
  for (const name of ["clusters", "map", "graphs"]) byId(name).hidden = state.view !== name;
  for (const tab of document.querySelectorAll("nav button")) {
    if (tab.dataset.go === state.view) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  if (state.view === "map") {
    showMap();
    return;
  }
  if (state.view === "graphs") {
    showGraphs();
    return;
  }
  showFilters();
  if (LIST_KEYS.some((name) => before[name] !== state[name]) || before.view !== state.view) {
    if (before.view === state.view) {
      listed.active = 0;
      byId("list").scrollTop = 0;
    }
    showList();
  }
  const at = listed.clusters.indexOf(opened());
  if (state.cluster !== null && at >= 0) {
    listed.active = at;
    reveal(at);
  }
  showRows();
  showDetail();
  if (state.cluster !== null && before.cluster === null && !wide()) window.scrollTo({ top: 0 });
  if (listed.focusDetail) focusHeading();
}

buildFilters();
let waiting = false;
byId("list").addEventListener("scroll", () => {
  if (!waiting) {
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      showRows();
    });
  }
});
byId("list").addEventListener("keydown", listKeys);
byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("list").focus();
});
for (const tab of document.querySelectorAll("nav button")) {
  tab.addEventListener("click", () =>
    go({ view: tab.dataset.go, cluster: tab.dataset.go === "graphs" ? null : state.cluster, map: null }),
  );
}
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  if (state.view !== "clusters") go({ view: "clusters", map: null });
  else if (state.cluster !== null) close();
});
window.addEventListener("hashchange", show);
window.matchMedia("(min-width: 861px)").addEventListener("change", () => {
  showRows();
  showDetail();
});
window.addEventListener("resize", () => {
  if (state.view === "clusters") showRows();
});
show();
document.documentElement.dataset.ready = String(Math.round(performance.now()));
