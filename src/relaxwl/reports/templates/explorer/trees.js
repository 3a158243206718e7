// Trees and mappings between trees: outlines, layout, drawings.
import { DELETED, INSERTED, KEPT, RELABELED, edges, labels, meta, trees } from "./data.js";
import { byId, h, svg, whole } from "./elements.js";

const STATE_CLASS = ["", " relabeled", " deleted", " inserted"];
// Nodes of a mapping that are drawn: with more of them the dashed lines cannot be followed. Of larger ones, and of
// those too wide for the page, a part is drawn: so many nodes, and the most frequent branches below each.
const MAPPED = 40,
  MAPPED_WIDTH = 900,
  MAPPED_GAP = 64,
  MAPPED_MARGIN = 14,
  MAPPED_PARTS = [
    [22, 3],
    [16, 2],
    [9, 2],
    [5, 2],
    [3, 1],
  ];
// Texts can be read down to this scale; a drawing that is still too wide is scrolled.
const READABLE = 0.65;
export const stride = meta.edge_labels ? 3 : 2;
export const firstChild = (row) => (row[0] === RELABELED ? 3 : 2);
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

/* The upper part of a tree as a list, parents first, with at most `most` branches below a node, if asked for the
   most frequent ones; `hidden` counts what is left out below it, by side. */
export function outline(root, limit, most = Infinity, frequentFirst = false) {
  const nodes = [{ index: root, parent: -1, count: 1, edge: null }];
  for (let i = 0; i < nodes.length; i++) {
    const node = nodes[i],
      row = trees[node.index];
    node.state = row[0];
    node.before = labels[row[1]];
    node.after = labels[row[row[0] === RELABELED ? 2 : 1]];
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

const RADIUS = meta.labeled ? 13 : 8,
  LEVEL = meta.labeled ? 58 : 46,
  GAP = meta.labeled ? 12 : 9;
export const textWidth = (text, size) =>
  [...text].reduce((sum, letter) => sum + (letter > "\u2e7f" ? 1 : 0.58) * size, 0);
const shortened = (text) => ([...text].length > 18 ? [...text].slice(0, 17).join("") + "…" : text);

/* Parents over the middle of their children, subtrees as close as their outlines allow. */
export function place(nodes, side) {
  const shown = [];
  const at = new Map();
  nodes.forEach((node, i) => {
    if (!seen[side](node.state)) return;
    const label = meta.labeled ? shortened(node[side]) : "";
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

export function treeElements(placed, side, dx, dy) {
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

export function picture(width, height, title, body, scale) {
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
export function canvas(image, name) {
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

export function mappingOutline(index) {
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

/* Two trees side by side, dashed lines between nodes that are mapped to each other. */
export function mappingPicture(nodes, title) {
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
  const captions = [caption(left, dx[0], "member"), caption(right, dx[1], "center")];
  const width = dx[1] + right.width + MAPPED_MARGIN;
  const body = [
    ...lines,
    ...treeElements(left, "before", dx[0], top),
    ...treeElements(right, "after", dx[1], top),
    ...captions,
  ];
  return picture(width, top + height + 34, title, body, READABLE);
}
