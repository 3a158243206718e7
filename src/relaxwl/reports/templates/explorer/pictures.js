// Pictures to walk and zoom in.
import { labels, meta } from "./data.js";
import { button, h, svg } from "./elements.js";
import { picture, textWidth } from "./trees.js";

/* Returns {image, circles}: options lit(v), tint(v) in [-1, 1], title, size, interactive. */
export function graphPicture(graph, { lit, tint, title, size = 320 }) {
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
  let closest = Infinity;
  for (let v = 0; v < n; v++)
    for (let u = 0; u < v; u++) closest = Math.min(closest, Math.hypot(xs[u] - xs[v], ys[u] - ys[v]));
  const radius = Math.max(2.6, Math.min(9, (0.3 * size) / Math.sqrt(n + 1) / 1.6, 0.46 * closest));
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
      // The root, so that a few very telling nodes leave some color to the others.
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
  if (meta.labeled && graph.labels.length && radius >= 5)
    for (let v = 0; v < n; v++) {
      const text = labels[graph.labels[v]];
      if (textWidth(text, 9) < 2 * radius)
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

/* Let arrow keys and the pointer go from dot to dot; `visit` is told where, `open` what was chosen. */
export function wander(box, dots, xs, ys, visit, open, start) {
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

export function zoomable(image, width, height) {
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
