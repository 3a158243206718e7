"use strict";
// The explorer page. All data is in the element #data; the state is in the part of the address behind the #.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { meta, clusters: C, trees, labels, edges, maps, graphs, levels } = data;
  // No green and no purple: these say what speaks for and against a class.
  const COLORS = ["#0072b2", "#d55e00", "#56b4e9", "#e69f00", "#8c564b", "#7f7f7f", "#5c6bc0", "#a69b00"];
  const [KEPT, RELABELLED, DELETED, INSERTED] = [0, 1, 2, 3];
  const STATE_CLASS = ["", " relabelled", " deleted", " inserted"];
  const ROW_HEIGHT = 88;
  // Vertices of a mapping that are drawn: with more of them the dashed lines cannot be followed. Of larger ones, and of
  // those too wide for the page, a part is drawn: so many vertices, and the most frequent branches below each.
  const MAPPED = 40,
    MAPPED_WIDTH = 900,
    MAPPED_GAP = 64,
    MAPPED_MARGIN = 14,
    MAPPED_PARTS = [
      [22, 3],
      [16, 2],
      [9, 2],
    ];
  // Texts can be read down to this scale; a drawing that is still too wide is scrolled.
  const READABLE = 0.65;
  const N = C.depth.length;
  const byId = (id) => document.getElementById(id);
  const wide = () => window.matchMedia("(min-width: 861px)").matches;

  // ------------------------------------------------------------------------------------------------ elements

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "on")
        for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
      else if (name === "style")
        for (const [key, style] of Object.entries(value)) element.style.setProperty(key, style);
      else element.setAttribute(name, value === true ? "" : value);
    }
    // Texts become text nodes: nothing in the data is ever read as markup.
    element.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return element;
  }
  const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
  const button = (text, click, attributes) =>
    h("button", { type: "button", class: "tool", on: { click }, ...attributes }, text);

  const whole = (number) => number.toLocaleString("en");
  const short = (number) => (Number.isInteger(number) ? whole(number) : String(Number(number.toPrecision(3))));
  const percent = (share) => {
    const value = 100 * share;
    if (value === 0) return "0 %";
    return Math.abs(value) < 0.1
      ? value > 0
        ? "< 0.1 %"
        : "> −0.1 %"
      : `${value.toFixed(Math.abs(value) < 10 ? 1 : 0)} %`.replace("-", "−");
  };
  const signed = (number) => `${number > 0 ? "+" : ""}${number.toPrecision(2)}`.replace("-", "−");
  const withSign = (number, digits) => {
    const rounded = Number(number.toFixed(digits));
    return `${rounded > 0 ? "+" : ""}${rounded.toFixed(digits)}`.replace("-", "−");
  };
  const toneOf = (number) => (number > 0 ? "positive" : number < 0 ? "negative" : "");
  const counted = (number, one, many) => `${whole(number)} ${number === 1 ? one : many}`;
  const className = (k) => `class ${meta.classes[k]}`;
  const color = (k) => ({ "--class": COLORS[k % COLORS.length] });
  const chip = (k, extra) => h("span", { class: "chip", style: color(k) }, className(k) + (extra || ""));

  // ------------------------------------------------------------------------------------------------ trees

  const stride = meta.edge_labels ? 3 : 2;
  const firstChild = (row) => (row[0] === RELABELLED ? 3 : 2);
  const seen = { before: (state) => state !== INSERTED, after: (state) => state !== DELETED };
  const sizes = { before: new Map(), after: new Map() };

  function sizeOf(index, side) {
    const known = sizes[side];
    if (!known.has(index)) {
      const row = trees[index];
      let total = seen[side](row[0]) ? 1 : 0;
      for (let i = firstChild(row); total && i < row.length; i += stride) total += row[i + 1] * sizeOf(row[i], side);
      known.set(index, total);
    }
    return known.get(index);
  }

  /* The upper part of a tree as a list, parents first, with at most `most` branches below a vertex, if asked for the
     most frequent ones; `hidden` counts what is left out below it, by side. */
  function outline(root, limit, most = Infinity, frequentFirst = false) {
    const nodes = [{ index: root, parent: -1, count: 1, edge: null }];
    for (let i = 0; i < nodes.length; i++) {
      const node = nodes[i],
        row = trees[node.index];
      node.state = row[0];
      node.before = labels[row[1]];
      node.after = labels[row[row[0] === RELABELLED ? 2 : 1]];
      node.hidden = { before: 0, after: 0 };
      const places = [];
      for (let at = firstChild(row); at < row.length; at += stride) places.push(at);
      if (frequentFirst) places.sort((a, b) => row[b + 1] - row[a + 1] || a - b);
      for (const [rank, at] of places.entries()) {
        if (nodes.length < limit && rank < most) {
          const edge = meta.edge_labels ? edges[row[at + 2]] : null;
          nodes.push({ index: row[at], parent: i, count: row[at + 1], edge });
        } else for (const side of ["before", "after"]) node.hidden[side] += row[at + 1] * sizeOf(row[at], side);
      }
    }
    return nodes;
  }

  const RADIUS = meta.labelled ? 13 : 8,
    LEVEL = meta.labelled ? 58 : 46,
    GAP = meta.labelled ? 12 : 9;
  const textWidth = (text, size) => [...text].reduce((sum, letter) => sum + (letter > "\u2e7f" ? 1 : 0.58) * size, 0);
  const shortened = (text) => ([...text].length > 18 ? [...text].slice(0, 17).join("") + "…" : text);

  /* Parents over the middle of their children, subtrees as close as their outlines allow. */
  function place(nodes, side) {
    const shown = [];
    const at = new Map();
    nodes.forEach((node, i) => {
      if (!seen[side](node.state)) return;
      const label = meta.labelled ? shortened(node[side]) : "";
      const half = Math.max(RADIUS, label ? textWidth(label, 13) / 2 + 7 : 0);
      const edge = node.edge ? shortened(node.edge[side === "before" ? 0 : 1]) : "";
      const beside = node.count > 1 ? textWidth(`×${node.count}`, 11) + 3 : 0;
      at.set(i, shown.length);
      shown.push({
        i,
        node,
        label,
        half,
        edge,
        room: Math.max(half + beside, edge ? textWidth(edge, 13) : 0),
        parent: node.parent < 0 ? -1 : at.get(node.parent),
        below: [],
        shift: 0,
      });
    });
    for (const item of shown.slice()) {
      if (!item.node.hidden[side]) continue;
      const note = `… +${whole(item.node.hidden[side])}`;
      shown.push({
        note,
        label: note,
        half: textWidth(note, 11) / 2 + 4,
        room: textWidth(note, 11) / 2 + 4,
        edge: "",
        parent: at.get(item.i),
        below: [],
        shift: 0,
      });
    }
    shown.forEach((item, i) => {
      if (item.parent >= 0) shown[item.parent].below.push(i);
    });
    for (let i = shown.length - 1; i >= 0; i--) {
      const item = shown[i];
      let left = [],
        right = [];
      for (const child of item.below.map((j) => shown[j])) {
        let move = 0;
        for (let d = 0; d < Math.min(right.length, child.left.length); d++)
          move = Math.max(move, right[d] + GAP - child.left[d]);
        child.shift = move;
        left = left.concat(child.left.slice(left.length).map((x) => x + move));
        right = child.right.map((x) => x + move).concat(right.slice(child.right.length));
      }
      if (item.below.length) {
        const middle = (shown[item.below[0]].shift + shown[item.below[item.below.length - 1]].shift) / 2;
        for (const j of item.below) shown[j].shift -= middle;
        left = left.map((x) => x - middle);
        right = right.map((x) => x - middle);
      }
      item.left = [-item.room, ...left];
      item.right = [item.room, ...right];
    }
    const low = Math.min(...shown[0].left),
      high = Math.max(...shown[0].right);
    let deepest = 0;
    for (const item of shown) {
      const up = shown[item.parent];
      item.x = up ? up.x + item.shift : -low;
      item.level = up ? up.level + 1 : 0;
      deepest = Math.max(deepest, item.level);
      item.y = RADIUS + LEVEL * item.level;
    }
    return { shown, width: high - low, height: deepest * LEVEL + 2 * RADIUS };
  }

  function treeElements(placed, side, dx, dy) {
    const below = [],
      above = [];
    for (const item of placed.shown) {
      const x = item.x + dx,
        y = item.y + dy,
        up = placed.shown[item.parent];
      if (up)
        below.push(
          svg("path", { class: "edge", d: `M${up.x + dx} ${up.y + dy + RADIUS}L${x} ${y - (item.note ? 9 : RADIUS)}` }),
        );
      if (item.edge) {
        const changed = item.node.edge[0] !== item.node.edge[1],
          outer = item.x < up.x - 1 ? -1 : 1;
        above.push(
          svg(
            "text",
            {
              class: `small ${outer < 0 ? "end" : "start"}${changed ? " changed" : ""}`,
              x: up.x + dx + 0.56 * (item.x - up.x) + 6 * outer,
              y: up.y + dy + 0.56 * LEVEL - 3,
              dy: ".35em",
            },
            item.edge,
          ),
        );
      }
      if (item.note) {
        above.push(
          svg("rect", { class: "note", x: x - item.half, y: y - 9, width: 2 * item.half, height: 18, rx: 9 }),
          svg("text", { class: "small on", x, y, dy: ".35em" }, item.label),
        );
        continue;
      }
      const kind = "node" + STATE_CLASS[item.node.state];
      above.push(
        item.half <= RADIUS
          ? svg("circle", { class: kind, cx: x, cy: y, r: RADIUS })
          : svg("rect", {
              class: kind,
              x: x - item.half,
              y: y - RADIUS,
              width: 2 * item.half,
              height: 2 * RADIUS,
              rx: RADIUS,
            }),
      );
      if (item.label)
        above.push(svg("text", { class: item.node.state === KEPT ? "on" : "ink", x, y, dy: ".35em" }, item.label));
      if (item.node.count > 1)
        above.push(
          svg(
            "text",
            { class: "small start", x: x + item.half + 2, y: y - RADIUS + 3, dy: ".35em" },
            `×${item.node.count}`,
          ),
        );
    }
    return [...below, ...above];
  }

  function picture(width, height, title, body, scale) {
    const style = scale
      ? { width: `${width}px`, "max-width": "100%", "min-width": `${Math.round(width * scale)}px` }
      : null;
    return svg(
      "svg",
      {
        class: "rwl",
        viewBox: `0 0 ${width.toFixed(1)} ${height.toFixed(1)}`,
        style,
        ...(title ? { role: "img", "aria-label": title } : { "aria-hidden": "true" }),
      },
      body,
    );
  }

  /* A box that a picture fits into, or, where it could then not be read, is scrolled in, which a line below says; it
     starts with the middle in sight, where roots are. */
  function canvas(image, name) {
    const box = h("div", { class: "canvas", tabindex: "0", role: "region", "aria-label": name }, image);
    const cue = h("p", { class: "cue", hidden: true }, "↔ There is more on both sides: scroll the drawing sideways.");
    const watch = () => {
      const cut = box.scrollWidth > box.clientWidth + 1;
      box.classList.toggle("cut", cut);
      cue.hidden = !cut;
    };
    requestAnimationFrame(() => {
      box.scrollLeft = (box.scrollWidth - box.clientWidth) / 2;
      new ResizeObserver(watch).observe(box);
    });
    return h("div", {}, box, cue);
  }

  const thumbs = new Map();
  function thumb(c) {
    if (!thumbs.has(c)) {
      // Three branches below a vertex and three levels are as much as can be told apart at this size.
      const nodes = outline(C.tree[c], 13, 3);
      for (const node of nodes) node.hidden = { before: 0, after: 0 };
      const placed = place(nodes, "after");
      const image = picture(placed.width + 20, placed.height + 20, null, treeElements(placed, "after", 10, 10), 0);
      image.classList.add("thumb");
      thumbs.set(c, image);
    }
    return thumbs.get(c).cloneNode(true);
  }

  function mappingOutline(index) {
    const all = outline(index, MAPPED + 1);
    const room = Math.min(MAPPED_WIDTH, mappingRoom());
    const fits = (nodes) => place(nodes, "before").width + place(nodes, "after").width <= room;
    if (all.length <= MAPPED && fits(all)) return all;
    const parts = MAPPED_PARTS.map(([limit, most]) => outline(index, limit, most, true));
    return parts.find(fits) || parts[parts.length - 1];
  }

  /* The width that both trees may have to be readable without scrolling. */
  function mappingRoom() {
    const box = byId("detail").clientWidth - 18;
    return box > 0 ? box / READABLE - MAPPED_GAP - 2 * MAPPED_MARGIN : MAPPED_WIDTH;
  }

  /* Two trees side by side, dashed lines between vertices that are mapped to each other. */
  function mappingPicture(nodes, title) {
    const left = place(nodes, "before"),
      right = place(nodes, "after");
    const top = 14,
      dx = [MAPPED_MARGIN, MAPPED_MARGIN + left.width + MAPPED_GAP];
    const height = Math.max(left.height, right.height);
    const partner = new Map(right.shown.filter((item) => item.node).map((item) => [item.i, item]));
    const byLevel = new Map();
    for (const item of left.shown) {
      if (!item.node || !partner.has(item.i)) continue;
      if (!byLevel.has(item.y)) byLevel.set(item.y, []);
      byLevel.get(item.y).push(item);
    }
    const lines = [];
    for (const [y, items] of byLevel)
      items
        .sort((a, b) => a.x - b.x)
        .forEach((item, rank) => {
          const start = dx[0] + item.x + 0.7 * item.half,
            end = dx[1] + partner.get(item.i).x - 0.7 * partner.get(item.i).half;
          const height0 = top + y - 0.7 * RADIUS,
            rise = y === RADIUS ? 4 : 10 + (22 * (items.length - rank)) / items.length;
          const bend = Math.min(70, (end - start) / 3);
          lines.push(
            svg("path", {
              class: items.length > 12 ? "match many" : "match",
              d: `M${start} ${height0}C${start + bend} ${height0 - rise} ${end - bend} ${height0 - rise} ${end} ${height0}`,
            }),
          );
        });
    const caption = (tree, at, text) =>
      svg("text", { class: "small faint", x: at + tree.width / 2, y: top + height + 20 }, text);
    const captions = [caption(left, dx[0], "member"), caption(right, dx[1], "centre")];
    const width = dx[1] + right.width + MAPPED_MARGIN;
    const body = [
      ...lines,
      ...treeElements(left, "before", dx[0], top),
      ...treeElements(right, "after", dx[1], top),
      ...captions,
    ];
    return picture(width, top + height + 34, title, body, READABLE);
  }

  // ------------------------------------------------------------------------------------------------ state

  const SORTS = {
    rank: ["importance", null],
    share: ["share of the separation", (a, b) => C.share[b] - C.share[a]],
    size: ["number of vertices", (a, b) => C.size[b] - C.size[a]],
    effect: ["effect of the class", (a, b) => C.effect[b] - C.effect[a]],
    depth: ["depth", (a, b) => C.depth[a] - C.depth[b]],
    tree: ["size of the centre", (a, b) => C.vertices[a] - C.vertices[b]],
  };
  let state = {};
  let found = [];
  let active = 0;

  function parsed() {
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

  function go(changes, replace) {
    const target = hashOf({ ...state, ...changes });
    if (target === (location.hash || "#")) return;
    if (replace) {
      location.replace(target);
    } else location.hash = target;
  }

  // ------------------------------------------------------------------------------------------------ list

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

  function filtered() {
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

  function buildFilters() {
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
      selectField("class", "Most in class", any.concat(meta.classes.map((name, k) => [k, name]))),
      partitions.length > 1 ? selectField("partition", "Partition", any.concat(partitions.map((p) => [p, p]))) : "",
      meta.labelled && names.length > 1
        ? selectField("label", "With label", any.concat(names.map((label) => [label, labels[label]])))
        : "",
      selectField(
        "sort",
        "Sort by",
        Object.entries(SORTS).map(([name, [title]]) => [name, title]),
      ),
      h("label", { class: "check" }, check, "only better than chance"),
    );
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
  }

  function showFilters() {
    for (const field of byId("filters").elements) {
      if (field.type === "checkbox") field.checked = state[field.name];
      else field.value = state[field.name] === null ? "" : state[field.name];
    }
  }

  function bars(c) {
    const largest = Math.max(...C.mean[c], 1e-12);
    return h(
      "div",
      { class: "bars", "aria-hidden": "true", title: "Vertices of it in a graph of each class, on average" },
      C.mean[c]
        .slice(0, 8)
        .map((value, k) => h("i", { style: { ...color(k), height: `${(100 * value) / largest}%` } })),
    );
  }

  function rowElement(place) {
    const c = found[place];
    const verdict = C.better[c] ? chip(C.typical[c]) : h("span", { class: "chip weak" }, "not better than chance");
    return h(
      "div",
      {
        class: `row${C.better[c] ? "" : " weak-row"}`,
        role: "option",
        id: `option-${c}`,
        "aria-posinset": place + 1,
        "aria-setsize": found.length,
        "aria-label": spoken(c),
        style: { top: `${place * ROW_HEIGHT}px` },
        on: {
          click: () => {
            active = place;
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
        h("span", {}, `depth ${C.depth[c]} · ${counted(C.size[c], "vertex", "vertices")}`),
      ),
      bars(c),
    );
  }

  function spoken(c) {
    const verdict = C.better[c] ? `most in ${className(C.typical[c])}` : "not better than chance";
    return `Cluster ${c + 1}, depth ${C.depth[c]}, ${counted(C.size[c], "vertex", "vertices")}, ${verdict}`;
  }

  const rendered = new Map();
  function showRows() {
    const list = byId("list");
    const first = Math.max(0, Math.floor(list.scrollTop / ROW_HEIGHT) - 3);
    const last = Math.min(found.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW_HEIGHT) + 3);
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
      row.classList.toggle("active", place === active);
      row.setAttribute("aria-selected", found[place] === opened());
    }
    if (rendered.has(active)) list.setAttribute("aria-activedescendant", rendered.get(active).id);
    else list.removeAttribute("aria-activedescendant");
  }

  function showList() {
    found = filtered();
    for (const element of rendered.values()) element.remove();
    rendered.clear();
    byId("rows").style.height = `${found.length * ROW_HEIGHT}px`;
    active = Math.max(0, Math.min(active, found.length - 1));
    const left = meta.left_out ? `; ${whole(meta.left_out)} more, ranked below, are not on this page` : "";
    byId("count").textContent = `${whole(found.length)} of ${whole(N)} clusters${left}`;
    showRows();
  }

  function reveal(place) {
    const list = byId("list"),
      top = place * ROW_HEIGHT;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + ROW_HEIGHT > list.scrollTop + list.clientHeight)
      list.scrollTop = top + ROW_HEIGHT - list.clientHeight;
  }

  function listKeys(event) {
    const page = Math.max(1, Math.floor(byId("list").clientHeight / ROW_HEIGHT) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -N, End: N };
    if (event.key in moves && found.length) {
      event.preventDefault();
      active = Math.max(0, Math.min(found.length - 1, active + moves[event.key]));
      reveal(active);
      showRows();
      if (wide()) go({ cluster: found[active], member: 0 }, true);
    } else if ((event.key === "Enter" || event.key === " ") && found.length) {
      event.preventDefault();
      go({ cluster: found[active], member: 0 });
      focusDetail = true;
      if (state.cluster === found[active]) focusHeading();
    }
  }

  // ------------------------------------------------------------------------------------------------ one cluster

  let focusDetail = false;
  const focusHeading = () => {
    focusDetail = false;
    const head = byId("detail").querySelector("h2");
    if (head) head.focus();
  };
  /* The cluster that is shown: the one asked for, or where there is room the first of the list. */
  const opened = () => (state.cluster !== null ? state.cluster : wide() && found.length ? found[0] : null);

  function fact(value, words) {
    return h("li", {}, h("strong", {}, value), h("span", {}, words));
  }

  function showDetail() {
    const c = opened(),
      detail = byId("detail");
    detail.replaceChildren();
    if (c === null) {
      if (!found.length) detail.append(h("p", { class: "note" }, "No cluster has all of these properties."));
      return;
    }
    const at = found.indexOf(c);
    const step = (by) => () => {
      active = at + by;
      reveal(active);
      go({ cluster: found[active], member: 0 }, true);
    };
    detail.append(
      h(
        "div",
        { class: "head" },
        h("h2", { tabindex: "-1" }, `Cluster ${c + 1}`, C.better[c] ? `: most in ${className(C.typical[c])}` : ""),
        h(
          "div",
          { class: "tools" },
          button("← All clusters", close, { class: "tool back" }),
          button("↑", step(-1), { "aria-label": "Previous cluster", disabled: at <= 0 }),
          button("↓", step(1), { "aria-label": "Next cluster", disabled: at < 0 || at >= found.length - 1 }),
          mapOf(c) >= 0 ? button("On the map", () => go({ view: "map", cluster: c, map: mapOf(c) })) : "",
        ),
      ),
      C.better[c]
        ? ""
        : h(
            "p",
            { class: "warning" },
            `Not better than chance: with the classes dealt out at random, some cluster does as well in ${percent(C.p[c])} of the cases.`,
          ),
      h(
        "ul",
        { class: "facts" },
        fact(percent(C.share[c]), "of what separates the classes"),
        fact(`p = ${short(C.p[c])}`, `against chance, for all clusters together`),
        fact(whole(C.size[c]), `vertices, in ${counted(C.in_graphs[c], "graph", "graphs")}`),
        fact(String(C.depth[c]), `depth, in partition ${C.partition[c]}`),
      ),
      h("div", { class: "pair" }, centerFigure(c), classTable(c)),
      memberSection(c),
      graphSection(c),
      nearSection(c),
    );
  }

  function centerFigure(c, limit = 45) {
    const title = `Centre of cluster ${c + 1}: a tree of ${counted(C.vertices[c], "vertex", "vertices")}, depth ${C.depth[c]}`;
    const nodes = outline(C.tree[c], limit),
      placed = place(nodes, "after");
    const cut = nodes.some((node) => node.hidden.after);
    const image = picture(placed.width + 20, placed.height + 20, title, treeElements(placed, "after", 10, 10), 0.55);
    const figure = h(
      "figure",
      { class: placed.width > 560 ? "across" : null },
      h("h3", {}, meta.has_centers ? "The centre" : "The tree"),
      canvas(image, "Centre tree"),
      h(
        "figcaption",
        {},
        `${counted(C.vertices[c], "vertex", "vertices")}; equal branches are drawn once. `,
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
            ["Class", "Vertices of it per graph", "Graphs with it", "Weight"].map((text) =>
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
              h(
                "td",
                { class: toneOf(C.weight[c][k]) },
                signed(C.weight[c][k]),
              ),
            ),
          ),
        ),
      ),
      h(
        "p",
        { class: "note" },
        "Vertices per graph are means; the class with most of them names the cluster. Positive weights speak for a class, negative ones against it, beside all other clusters: so a weight can differ from what the means suggest.",
      ),
    );
  }

  function memberSection(c) {
    const members = C.members[c];
    if (!members.length) return "";
    const chosen = Math.min(state.member, members.length - 1);
    const [far, graph, vertex, distance, alike, cost, depth, overlay, words] = members[chosen];
    const seats = [0, 0];
    const choices = members.map((member, i) => {
      seats[member[0]]++;
      return button(
        `${member[0] ? "farthest" : "nearest"} ${seats[member[0]]}`,
        () => go({ cluster: c, member: i }, true),
        { "aria-pressed": String(i === chosen), "data-member": i },
      );
    });
    const title = `Mapping from the member to the centre, ${short(cost)} edits: ${words}`;
    const partly =
      depth < C.depth[c]
        ? ` Compared down to depth ${depth} of ${C.depth[c]}: the whole trees are too large to be read.`
        : "";
    const others = alike > 1 ? ` ${whole(alike)} vertices have the same tree.` : "";
    const measured = meta.has_centers ? `, at distance ${short(distance)} as the kernel measures it` : "";
    const why =
      meta.has_centers && !partly && Math.abs(distance - cost) > 1e-6 * Math.max(1, cost)
        ? " The two differ because the kernel compares groups of smaller neighbourhoods, the drawing whole trees."
        : "";
    const equal = words === "no difference";
    const nodes = mappingOutline(overlay);
    return h(
      "section",
      { "aria-label": "Members" },
      h("h3", {}, "Members, nearest to and farthest from the centre"),
      h("div", { class: "choices", role: "group", "aria-label": "Choose a member" }, choices),
      h(
        "p",
        {},
        h("strong", {}, equal ? "The centre is the same tree." : `To become the centre: ${words}.`),
        ` Vertex ${vertex} of graph ${graph}${measured}; the trees drawn here are ${counted(cost, "edit", "edits").replace(String(cost), short(cost))} apart.${why}${others}${partly}`,
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
      [RELABELLED, "relabelled"],
      [DELETED, "deleted"],
      [INSERTED, "inserted"],
    ].filter(([code]) => present.has(code));
    return h(
      "figcaption",
      { class: "legend" },
      entries.map(([, name]) => h("span", {}, mark(name), ` ${name}`)),
      h("span", {}, "- - -  mapped to each other"),
      part ? h("span", {}, "… +5: five more vertices below, not drawn") : "",
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
    if (!chosen.length)
      return h("p", { class: "note" }, "None of the graphs on this page has a vertex in this cluster.");
    return h(
      "section",
      { "aria-label": "Graphs with this cluster" },
      h("h3", {}, "Where it is found"),
      h(
        "p",
        { class: "note" },
        `Vertices in this cluster are lit. Of the ${graphs.length} graphs on this page, those with most of it in each class.`,
      ),
      h(
        "div",
        { class: "grid" },
        chosen
          .slice(0, 12)
          .map(([count, i]) =>
            h(
              "button",
              { type: "button", on: { click: () => go({ view: "graphs", graph: i, cluster: c }) } },
              graphPicture(graphs[i], {
                lit: (v) => graphs[i].groups[level][v] === c,
                title: `Graph ${graphs[i].id}, ${count} vertices lit`,
              }).image,
              chip(graphs[i].class, ` · graph ${graphs[i].id}`),
              h("span", { class: "note" }, `${count} of ${counted(graphs[i].n, "vertex", "vertices")}`),
            ),
          ),
      ),
    );
  }

  const countIn = (graph, c) => {
    const entry = graph.clusters.find((item) => item[0] === c);
    return entry ? entry[1] : 0;
  };

  function card(c) {
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
      C.better[c] ? chip(C.typical[c]) : h("span", { class: "chip weak" }, "not better than chance"),
    );
  }

  function nearSection(c) {
    if (!C.near[c].length) return "";
    return h(
      "section",
      { "aria-label": "Similar clusters" },
      h("h3", {}, "Most similar clusters of the same depth and partition"),
      h("div", { class: "cards" }, C.near[c].map(card)),
    );
  }

  function close() {
    go({ cluster: null, member: 0 });
    byId("list").focus();
  }

  // ------------------------------------------------------------------------------------------------ graphs

  /* Returns {image, circles}: options lit(v), tint(v) in [-1, 1], title, size, interactive. */
  function graphPicture(graph, { lit, tint, title, size = 320 }) {
    const n = graph.xy.length / 2,
      margin = 14;
    const xs = [],
      ys = [];
    for (let v = 0; v < n; v++) {
      xs.push(margin + (graph.xy[2 * v] * (size - 2 * margin)) / 1000);
      ys.push(margin + (graph.xy[2 * v + 1] * (size - 2 * margin)) / 1000);
    }
    const height = Math.max(...ys, 0) + margin,
      width = Math.max(...xs, 0) + margin;
    const radius = Math.max(2.6, Math.min(9, (0.3 * size) / Math.sqrt(n + 1) / 1.6));
    let links = "";
    for (let e = 0; e < graph.edges.length; e += 2)
      links += `M${xs[graph.edges[e]].toFixed(1)} ${ys[graph.edges[e]].toFixed(1)}L${xs[graph.edges[e + 1]].toFixed(1)} ${ys[graph.edges[e + 1]].toFixed(1)}`;
    const circles = [];
    const order = [...Array(n).keys()].sort((a, b) => (lit ? lit(a) - lit(b) : 0) || a - b);
    for (const v of order) {
      const attributes = {
        class: "gnode",
        cx: xs[v].toFixed(1),
        cy: ys[v].toFixed(1),
        r: lit && lit(v) ? radius * 1.25 : radius,
      };
      if (lit && lit(v)) attributes.class = "gnode hit";
      circles[v] = svg("circle", attributes);
    }
    const shapes = [svg("path", { class: "link", d: links }), ...order.map((v) => circles[v])];
    if (tint)
      for (const v of order) {
        // The root, so that a few very telling vertices leave some colour to the others.
        const strength = Math.sign(tint(v)) * Math.sqrt(Math.abs(tint(v)));
        if (Math.abs(strength) > 0.1)
          shapes.push(
            svg("circle", {
              class: strength > 0 ? "for" : "against",
              "fill-opacity": Math.min(1, Math.abs(strength)).toFixed(2),
              cx: xs[v].toFixed(1),
              cy: ys[v].toFixed(1),
              r: radius - 0.5,
              "pointer-events": "none",
            }),
          );
      }
    if (meta.labelled && graph.labels.length && radius >= 6.5 && size > 400)
      for (let v = 0; v < n; v++) {
        const text = labels[graph.labels[v]];
        if (textWidth(text, 10) < 2 * radius)
          shapes.push(
            svg(
              "text",
              {
                class: lit && lit(v) ? "small ink" : "small",
                x: xs[v],
                y: ys[v],
                dy: ".35em",
                "pointer-events": "none",
              },
              text,
            ),
          );
      }
    return { image: picture(width, height, title, shapes, 0), circles, xs, ys };
  }

  const vertexName = (graph, v) => (graph.vertices.length ? graph.vertices[v] : v);

  function showGraphs() {
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
      graphs.map((item, i) => h("option", { value: i }, `graph ${item.id} (${className(item.class)})`)),
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
    const title = `Graph ${graph.id}: ${counted(graph.n, "vertex", "vertices")}, ${counted(graph.m, "edge", "edges")}`;
    const drawn = graphPicture(
      graph,
      c === null
        ? { tint: (v) => (values[v] - mean) / largest, title, size: 720 }
        : { lit: (v) => graph.groups[level][v] === c, title, size: 720 },
    );
    const info = h("div", { class: "panel", role: "status" });
    const plot = h(
      "div",
      {
        class: "plot",
        tabindex: "0",
        role: "application",
        "aria-label": `${title}. Arrow keys move between vertices.`,
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
                "Evidence a vertex gives, beside the mean of this graph: against",
                h("span", { class: "ramp", "aria-hidden": "true" }),
                `for ${className(k)}.`,
              )
            : h(
                "p",
                { class: "note" },
                `Lit: vertices in cluster ${c + 1}. `,
                button("Show the evidence instead", () => go({ cluster: null })),
              ),
        ),
        h(
          "div",
          {},
          h(
            "div",
            { class: "panel" },
            h("h2", {}, `Graph ${graph.id}`),
            h(
              "p",
              {},
              chip(graph.class, ""),
              ` · ${counted(graph.n, "vertex", "vertices")}, ${counted(graph.m, "edge", "edges")}`,
            ),
            h(
              "p",
              { class: "note" },
              right ? "The model puts it into this class." : `The model takes it for ${className(graph.predicted)}.`,
            ),
            graph.vertices.length
              ? h(
                  "p",
                  { class: "note" },
                  `Drawn: ${graph.vertices.length} vertices, those with most evidence and what is near to them.`,
                )
              : "",
          ),
          info,
        ),
      ),
      clusterTable(graph, k),
    );
    vertexInfo(info, graph, null, k);
    wander(plot, drawn.circles, drawn.xs, drawn.ys, (v) => vertexInfo(info, graph, v, k), null);
  }

  function vertexInfo(panel, graph, v, k) {
    if (v === null) {
      panel.replaceChildren(
        h(
          "p",
          { class: "note" },
          "Point at a vertex, or focus the picture and use the arrow keys, to see the clusters it is in.",
        ),
      );
      return;
    }
    const label = graph.labels.length ? `, label ${labels[graph.labels[v]]}` : "";
    const own = levels
      .map((_, level) => graph.groups[level][v])
      .filter((c) => c >= 0)
      .sort((a, b) => a - b)
      .slice(0, 5);
    panel.replaceChildren(
      h("h2", {}, `Vertex ${vertexName(graph, v)}${label}`),
      h(
        "p",
        { class: "note" },
        `Evidence for ${className(k)}: ${graph.evidence[k][v].toPrecision(2)}. Its most telling clusters:`,
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
        rows.length ? "The most telling clusters in this graph" : "Clusters in this graph (none is better than chance)",
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
            ["Cluster", "", "Vertices here", `Adds to the score of ${className(k)}`, "Depth"].map((text) =>
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
                button(
                  state.cluster === c ? "lit" : "light up",
                  () => go({ cluster: state.cluster === c ? null : c }),
                  { "aria-pressed": String(state.cluster === c) },
                ),
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

  // ------------------------------------------------------------------------------------------------ map

  const mapOf = (c) => maps.findIndex((map) => map.partition === C.partition[c] && map.depth === C.depth[c]);

  /* Let arrow keys and the pointer go from dot to dot; `visit` is told where, `open` what was chosen. */
  function wander(box, dots, xs, ys, visit, open, start) {
    let at = null;
    const moveTo = (i) => {
      if (at === i) return;
      if (at !== null) dots[at].classList.remove("current");
      at = i;
      dots[i].classList.add("current");
      // Dots that can be opened overlap; the current one comes to the top.
      if (open) dots[i].parentNode.append(dots[i]);
      visit(i);
    };
    const TURN = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
    box.addEventListener("keydown", (event) => {
      if (event.target !== box) return;
      if (event.key in TURN) {
        event.preventDefault();
        if (at === null) {
          moveTo(0);
          return;
        }
        const [dx, dy] = TURN[event.key];
        let best = null,
          cost = Infinity;
        for (let i = 0; i < dots.length; i++) {
          const x = xs[i] - xs[at],
            y = ys[i] - ys[at],
            along = x * dx + y * dy,
            across = Math.abs(x * dy) + Math.abs(y * dx);
          if (i !== at && along > 1e-9 && along + 2.5 * across < cost) {
            best = i;
            cost = along + 2.5 * across;
          }
        }
        if (best !== null) moveTo(best);
      } else if (event.key === "Enter" && at !== null && open) {
        event.preventDefault();
        open(at);
      }
    });
    dots.forEach((dot, i) => {
      dot.addEventListener("pointerenter", () => moveTo(i));
      dot.addEventListener("click", () => {
        moveTo(i);
        if (open) open(i);
      });
    });
    if (start !== undefined && start !== null && start >= 0) moveTo(start);
  }

  function zoomable(image, width, height) {
    let box = [0, 0, width, height];
    const apply = () => image.setAttribute("viewBox", box.map((value) => value.toFixed(1)).join(" "));
    const zoom = (factor, x = box[0] + box[2] / 2, y = box[1] + box[3] / 2) => {
      const w = Math.min(width, Math.max(width / 12, box[2] * factor)),
        hh = (w * height) / width;
      box = [x - ((x - box[0]) * w) / box[2], y - ((y - box[1]) * hh) / box[3], w, hh];
      clamp();
    };
    const clamp = () => {
      box[0] = Math.max(0, Math.min(width - box[2], box[0]));
      box[1] = Math.max(0, Math.min(height - box[3], box[1]));
      apply();
    };
    const scale = () => 1 / image.getScreenCTM().a;
    image.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(image.getScreenCTM().inverse());
        zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, at.x, at.y);
      },
      { passive: false },
    );
    let from = null;
    image.addEventListener("pointerdown", (event) => {
      from = [event.clientX, event.clientY, ...box];
    });
    window.addEventListener("pointerup", () => {
      from = null;
    });
    image.addEventListener("pointermove", (event) => {
      if (!from || !event.buttons) return;
      box[0] = from[2] - (event.clientX - from[0]) * scale();
      box[1] = from[3] - (event.clientY - from[1]) * scale();
      clamp();
    });
    return h(
      "div",
      { class: "zoom" },
      button("+", () => zoom(1 / 1.5), { "aria-label": "Zoom in" }),
      button("−", () => zoom(1.5), { "aria-label": "Zoom out" }),
    );
  }

  function showMap() {
    const section = byId("map");
    section.replaceChildren();
    if (!maps.length) {
      section.append(
        h(
          "p",
          { class: "note" },
          "There is no map: the clusters of this kernel are single trees, without distances between them.",
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
        h(
          "option",
          { value: i },
          `depth ${item.depth}, partition ${item.partition} (${item.clusters.length} clusters)`,
        ),
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
        "aria-label": `Map of ${map.clusters.length} cluster centres. Arrow keys move, Enter opens.`,
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
            h("span", { class: "chip weak" }, "not better than chance"),
          ),
          h(
            "p",
            { class: "note" },
            "Each dot is a cluster; its area grows with its vertices, its colour is the class whose graphs have most vertices in it, on average. Clusters whose centres are few edits apart are near to each other.",
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
      panel.replaceChildren(h("p", { class: "note" }, "Point at a dot, or focus the map and use the arrow keys."));
      return;
    }
    panel.replaceChildren(
      h("h2", {}, `Cluster ${c + 1}`),
      thumb(c),
      C.better[c] ? chip(C.typical[c]) : h("span", { class: "chip weak" }, "not better than chance"),
      h(
        "p",
        { class: "note" },
        `${counted(C.size[c], "vertex", "vertices")} in ${counted(C.in_graphs[c], "graph", "graphs")}; ${percent(C.share[c])} of what separates the classes.`,
      ),
      bars(c),
      button("Open", () => go({ view: "clusters", cluster: c, member: 0, map: null })),
    );
  }

  // ------------------------------------------------------------------------------------------------ the whole

  const LIST_KEYS = ["depth", "partition", "class", "label", "better", "sort"];

  function show() {
    const before = state;
    state = parsed();
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
        active = 0;
        byId("list").scrollTop = 0;
      }
      showList();
    }
    const at = found.indexOf(opened());
    if (state.cluster !== null && at >= 0) {
      active = at;
      reveal(at);
    }
    showRows();
    showDetail();
    if (state.cluster !== null && before.cluster === null && !wide()) window.scrollTo({ top: 0 });
    if (focusDetail) focusHeading();
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
})();
