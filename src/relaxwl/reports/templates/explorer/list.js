// The list of clusters, its filters and keys.
import { C, N, labels, meta, trees } from "./data.js";
import { byId, chip, counted, h, whole, wide } from "./elements.js";
import { firstChild, stride } from "./trees.js";
import { SORTS, focusHeading, go, listed, opened, state } from "./state.js";
import { bars, spoken, thumb } from "./cards.js";

const ROW_HEIGHT = 88;
const labelSets = new Map();
function hasLabel(index, label) {
  const key = `${index},${label}`;
  if (!labelSets.has(key)) {
    const row = trees[index];
    let hit = row[1] === label;
    for (let i = firstChild(row); !hit && i < row.length; i += stride) hit = hasLabel(row[i], label);
    labelSets.set(key, hit);
  }
  return labelSets.get(key);
}

export function filtered() {
  const result = [];
  for (let c = 0; c < N; c++) {
    if (state.depth !== null && C.depth[c] !== state.depth) continue;
    if (state.partition !== null && C.partition[c] !== state.partition) continue;
    if (state.class !== null && C.typical[c] !== state.class) continue;
    if (state.label !== null && !hasLabel(C.tree[c], state.label)) continue;
    if (state.better && !C.better[c]) continue;
    result.push(c);
  }
  const order = SORTS[state.sort][1];
  return order ? result.sort((a, b) => order(a, b) || a - b) : result;
}

function selectField(name, title, options) {
  const select = h(
    "select",
    {
      name,
      on: {
        change: () =>
          go({
            [name]: select.value === "" ? null : name === "sort" ? select.value : Number(select.value),
            cluster: null,
            member: 0,
          }),
      },
    },
    options.map(([value, text]) => h("option", { value }, text)),
  );
  return h("label", { class: "field" }, title, select);
}

export function buildFilters() {
  const distinct = (values) => [...new Set(values)].sort((a, b) => a - b);
  const any = [["", "all"]];
  const used = new Set();
  const visit = (index) => {
    if (used.has(-1 - index)) return;
    used.add(-1 - index);
    const row = trees[index];
    used.add(row[1]);
    for (let i = firstChild(row); i < row.length; i += stride) visit(row[i]);
  };
  C.tree.forEach(visit);
  const names = [...used]
    .filter((label) => label >= 0)
    .sort((a, b) => labels[a].localeCompare(labels[b], "en", { numeric: true }));
  const partitions = distinct(C.partition);
  const check = h("input", {
    type: "checkbox",
    name: "better",
    on: { change: () => go({ better: check.checked, cluster: null, member: 0 }) },
  });
  byId("filters").append(
    selectField("depth", "Depth", any.concat(distinct(C.depth).map((d) => [d, d]))),
    selectField("class", "Enriched in class", any.concat(meta.classes.map((name, k) => [k, name]))),
    partitions.length > 1 ? selectField("partition", "Partition", any.concat(partitions.map((p) => [p, p]))) : "",
    meta.labeled && names.length > 1
      ? selectField("label", "With label", any.concat(names.map((label) => [label, labels[label]])))
      : "",
    selectField(
      "sort",
      "Sort by",
      Object.entries(SORTS).map(([name, [title]]) => [name, title]),
    ),
    h("label", { class: "check" }, check, "only significant clusters"),
  );
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
}

export function showFilters() {
  for (const field of byId("filters").elements) {
    if (field.type === "checkbox") field.checked = state[field.name];
    else field.value = state[field.name] === null ? "" : state[field.name];
  }
}

function rowElement(place) {
  const c = listed.clusters[place];
  const verdict = C.better[c] ? chip(C.typical[c]) : h("span", { class: "chip weak" }, "not significant");
  return h(
    "div",
    {
      class: `row${C.better[c] ? "" : " weak-row"}`,
      role: "option",
      id: `option-${c}`,
      "aria-posinset": place + 1,
      "aria-setsize": listed.clusters.length,
      "aria-label": spoken(c),
      style: { top: `${place * ROW_HEIGHT}px` },
      on: {
        click: () => {
          listed.active = place;
          go({ cluster: c, member: 0 });
        },
      },
    },
    thumb(c),
    h(
      "div",
      {},
      h("strong", {}, `Cluster ${c + 1}`),
      verdict,
      h("span", {}, `depth ${C.depth[c]} · ${counted(C.size[c], "node", "nodes")}`),
    ),
    bars(c),
  );
}

const rendered = new Map();
export function showRows() {
  const list = byId("list");
  const first = Math.max(0, Math.floor(list.scrollTop / ROW_HEIGHT) - 3);
  const last = Math.min(listed.clusters.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW_HEIGHT) + 3);
  for (const [place, element] of rendered)
    if (place < first || place >= last) {
      element.remove();
      rendered.delete(place);
    }
  for (let place = first; place < last; place++) {
    if (!rendered.has(place)) {
      const element = rowElement(place);
      rendered.set(place, element);
      byId("rows").append(element);
    }
    const row = rendered.get(place);
    row.classList.toggle("active", place === listed.active);
    row.setAttribute("aria-selected", listed.clusters[place] === opened());
  }
  if (rendered.has(listed.active)) list.setAttribute("aria-activedescendant", rendered.get(listed.active).id);
  else list.removeAttribute("aria-activedescendant");
}

export function showList() {
  listed.clusters = filtered();
  for (const element of rendered.values()) element.remove();
  rendered.clear();
  byId("rows").style.height = `${listed.clusters.length * ROW_HEIGHT}px`;
  listed.active = Math.max(0, Math.min(listed.active, listed.clusters.length - 1));
  const left = meta.left_out ? `; ${whole(meta.left_out)} more, ranked below, are not on this page` : "";
  byId("count").textContent = `${whole(listed.clusters.length)} of ${whole(N)} clusters${left}`;
  showRows();
}

export function reveal(place) {
  const list = byId("list"),
    top = place * ROW_HEIGHT;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + ROW_HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW_HEIGHT - list.clientHeight;
}

export function listKeys(event) {
  const page = Math.max(1, Math.floor(byId("list").clientHeight / ROW_HEIGHT) - 1);
  const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -N, End: N };
  if (event.key in moves && listed.clusters.length) {
    event.preventDefault();
    listed.active = Math.max(0, Math.min(listed.clusters.length - 1, listed.active + moves[event.key]));
    reveal(listed.active);
    showRows();
    if (wide()) go({ cluster: listed.clusters[listed.active], member: 0 }, true);
  } else if ((event.key === "Enter" || event.key === " ") && listed.clusters.length) {
    event.preventDefault();
    go({ cluster: listed.clusters[listed.active], member: 0 });
    listed.focusDetail = true;
    if (state.cluster === listed.clusters[listed.active]) focusHeading();
  }
}
