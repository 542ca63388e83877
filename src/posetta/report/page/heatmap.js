/** The heat map: Pr(row before column) for all pairs, earliest items first. */

import { html, shortened, shortenedTo } from "./dom.js";
import { pairText } from "./card.js";

const LARGEST_CELL = 36;
/** Rows lower than this have no room for a label. */
const LABELLED_CELL = 10;
const LABEL_WIDTH = 150;

/** Items by depth: what is expected to come before less what is expected to come after. */
export function byDepth(precedence) {
  const depth = precedence.map((row, i) =>
    precedence.reduce((sum, other) => sum + other[i], 0) - row.reduce((sum, p) => sum + p, 0));
  return precedence.map((_, i) => i).sort((a, b) => depth[a] - depth[b] || a - b);
}

/** The section: a canvas that redraws itself for its width and for light and dark. */
export function heatmap(state, tip) {
  const { precedence } = state.data;
  const order = byDepth(precedence);
  const n = order.length;
  const canvas = html("canvas", { class: "heat", role: "img", "aria-label":
    "Heat map of Pr(row before column). The lists of pairs below give the same figures as text." });
  const holder = html("div", { class: "heat-holder" }, canvas);
  let cell = 1;
  let labels = 0;
  const draw = () => {
    const room = holder.clientWidth;
    if (!room || !n) return;
    labels = (room - Math.min(LABEL_WIDTH, room * 0.34)) / n >= LABELLED_CELL
      ? Math.min(LABEL_WIDTH, room * 0.34) : 0;
    cell = Math.max(1, Math.min(LARGEST_CELL, Math.floor((room - labels) / n)));
    const density = window.devicePixelRatio || 1;
    const [width, height] = [labels + cell * n, cell * n];
    canvas.width = width * density;
    canvas.height = height * density;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.scale(density, density);
    paint(context, state, order, cell, labels);
  };
  const at = (event) => {
    const corner = canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - corner.left - labels) / cell);
    const row = Math.floor((event.clientY - corner.top) / cell);
    if (row < 0 || column < 0 || row >= n || column >= n || row === column) return null;
    return [order[row], order[column]];
  };
  canvas.addEventListener("pointermove", (event) => {
    const pair = at(event);
    if (pair === null) tip.hide();
    else tip.show(event, pairText(state, ...pair));
  });
  canvas.addEventListener("pointerleave", () => tip.hide());
  canvas.addEventListener("click", (event) => {
    const pair = at(event);
    if (pair !== null) state.focusPair(...pair);
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  new ResizeObserver(draw).observe(holder);
  return holder;
}

function paint(context, state, order, cell, labels) {
  const style = getComputedStyle(document.documentElement);
  const colour = ramp(["--heat0", "--heat1", "--heat2", "--heat3"].map((name) =>
    channels(style.getPropertyValue(name).trim())));
  const gap = cell >= 8 ? 1 : 0;
  order.forEach((a, row) => {
    order.forEach((b, column) => {
      context.fillStyle = a === b ? style.getPropertyValue("--line").trim()
        : colour(state.data.precedence[a][b]);
      context.fillRect(labels + column * cell, row * cell, cell - gap, cell - gap);
    });
  });
  if (!labels) return;
  context.fillStyle = style.getPropertyValue("--ink").trim();
  context.font = `${Math.min(12, cell)}px ${getComputedStyle(document.body).fontFamily}`;
  context.textBaseline = "middle";
  context.textAlign = "right";
  order.forEach((item, row) => {
    const text = shortened(state.name(item).replace(/\s+/g, " "), 40);
    context.fillText(shortenedTo(labels - 10, text, context), labels - 8, (row + 0.5) * cell);
  });
}

function channels(hex) {
  return [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
}

/** Colours between stops that stand at equal distances. */
function ramp(stops) {
  return (p) => {
    const place = Math.min(1, Math.max(0, p)) * (stops.length - 1);
    const k = Math.min(stops.length - 2, Math.floor(place));
    const mixed = stops[k].map((c, i) => Math.round(c + (stops[k + 1][i] - c) * (place - k)));
    return `rgb(${mixed.join(",")})`;
  };
}
