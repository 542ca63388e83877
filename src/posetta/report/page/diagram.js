/** The Hasse diagram: items on layers, a line for every direct precedence at the threshold. */

import { counted, html, labelled, refill, shortened, shortenedTo, step, svg } from "./dom.js";
import { pairText } from "./card.js";
import { controls } from "./controls.js";
import { curve, layout } from "./layout.js";
import { certaintyLegend, groupLegend, groupMark } from "./legend.js";
import { viewport } from "./viewport.js";

const HEIGHT = 30;
const WIDEST = 210;
const LETTERS = 32;
const MARGIN = 24;
/** With more lines than this for each item they are drawn thin and faint, until one is chosen. */
const DENSE = 6;

/** The whole section: controls, drawing, free-standing items. */
export function diagram(state, tip) {
  const { data } = state;
  const drawing = svg("svg", { class: "hasse", role: "group",
    "aria-label": "Hasse diagram: earlier items first, lines are direct precedences" });
  const box = html("div", { class: "viewport", tabindex: 0, role: "region",
    "aria-label": "Diagram. Scroll to move; plus and minus zoom; 0 shows everything" }, drawing);
  const apart = html("div", { class: "apart" });
  const tally = html("p", { class: "tally-line", id: "tally", role: "status" });
  drawing.addEventListener("click", (event) => {
    if (event.target === drawing) state.clear();
  });
  let drawn = null;
  let direction = null;
  const view = viewport(box, () => drawn, (scale) => {
    drawing.setAttribute("width", drawn.width * scale);
    drawing.setAttribute("height", drawn.height * scale);
  });
  const draw = () => {
    drawn = drawnOrder(state, drawing, direction ?? "auto", box.clientWidth || 800, tip);
    const related = drawn.items.size;
    if (related) direction = drawn.direction; // it does not turn by itself as the threshold slides
    drawing.classList.toggle("dense", isDense(state, drawn));
    refill(apart, ...freeItems(state, drawn.items));
    box.hidden = related === 0;
    box.dataset.direction = drawn.direction;
  };
  const redraw = () => {
    draw();
    const whole = view.open();
    tally.textContent = tallied(state, isDense(state, drawn), whole || box.hidden);
    mark(state, drawing, apart);
  };
  state.on("order", redraw);
  state.on("focus", () => mark(state, drawing, apart));
  const show = (item) => {
    state.focusItem(item);
    const at = drawn.items.get(item);
    if (at) view.show(at.x, at.y);
  };
  const section = html("div", { class: "diagram" },
    controls(state, show, view, () => {
      direction = drawn.direction === "down" ? "right" : "down";
      redraw();
    }),
    tally, box, apart, data.is_point ? null : certaintyLegend(),
    data.groups ? groupLegend(data) : null);
  section.start = redraw;
  return section;
}

/** Whether there are too many lines to follow one by eye. */
function isDense(state, drawn) {
  return state.order.covers.length > DENSE * drawn.items.size;
}

/** What the drawing holds, in numbers, and what to do where it does not show all at once. */
function tallied(state, dense, whole) {
  const { covers, closure, level } = state.order;
  const relations = closure.reduce((sum, row) => sum + row.filter(Boolean).length, 0);
  return `${counted(relations, "precedence")}, ${counted(covers.length, "direct one")}, ` +
    `${counted(Math.max(0, ...level) + (state.n ? 1 : 0), "level")}.` +
    (whole ? "" : " Scroll to see more of it, or press Fit to see all.") +
    (dense ? " Choose an item to follow its lines." : "");
}

/** Draw the order; return size, direction and the places of the items that have relations. */
function drawnOrder(state, drawing, wanted, room, tip) {
  const { covers } = state.order;
  const { precedence, groups } = state.data;
  const related = [...new Set(covers.flat())].sort((a, b) => a - b);
  const local = new Map(related.map((item, k) => [item, k]));
  const edges = covers.map(([a, b]) => [local.get(a), local.get(b)]);
  const marked = (item) => groups !== null && groups.of_item[item] >= 0;
  const texts = related.map((item) => fitted(state.name(item)));
  const sizes = related.map((item, k) => ({
    width: texts[k].width + 22 + (marked(item) ? 16 : 0),
    height: HEIGHT,
  }));
  const { direction, found } = placed(sizes, edges, wanted, room);
  const shift = ([x, y]) => [x + MARGIN, y + MARGIN];
  const certainty = ([a, b]) => precedence[a][b];
  // Sure lines are drawn last: where lines share their way, these are on top.
  const rising = covers.map((_, k) => k)
    .sort((k, l) => certainty(covers[k]) - certainty(covers[l]));
  const lines = rising.map((k) => {
    const [a, b] = covers[k];
    return edge(state, a, b, found.edges[k].map(shift), precedence[a][b], direction, tip);
  });
  const items = new Map();
  const nodes = related.map((item, k) => {
    const [x, y] = shift([found.items[k].x, found.items[k].y]);
    items.set(item, { x, y });
    const group = marked(item) ? groups.of_item[item] : null;
    return node(state, item, x, y, sizes[k].width, texts[k].text, group, tip);
  });
  const width = found.width + 2 * MARGIN;
  const height = found.height + 2 * MARGIN;
  drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
  refill(drawing, svg("g", {}, ...lines), svg("g", {}, ...nodes));
  return { width, height, direction, items, start: beginning(found, direction) };
}

/** The middle of the first layer. */
function beginning(found, direction) {
  const first = found.items.filter((item) => item.layer === 0);
  const mean = (axis) => first.reduce((sum, item) => sum + item[axis], 0) / (first.length || 1);
  return direction === "down" ? { x: mean("x") + MARGIN, y: 0 } : { x: 0, y: mean("y") + MARGIN };
}

/** Lay out in the wanted direction, or in the one that needs less shrinking. */
function placed(sizes, edges, wanted, room) {
  const tried = (wanted === "auto" ? ["down", "right"] : [wanted]).map((direction) => {
    const found = layout(sizes, edges, direction);
    return { direction, found, scale: Math.min(1, room / found.width, 1400 / found.height) };
  });
  return tried.reduce((best, other) => (other.scale > best.scale ? other : best));
}

function edge(state, a, b, points, p, direction, tip) {
  const end = points[points.length - 1];
  const down = direction === "down";
  const short = [...points.slice(0, -1), down ? [end[0], end[1] - 7] : [end[0] - 7, end[1]]];
  const [x, y] = end;
  const head = down ? `M${x},${y - 1}l-4,-8h8Z` : `M${x - 1},${y}l-8,-4v8Z`;
  const d = curve(short, direction);
  return svg("g", { class: `edge step${state.data.is_point ? 3 : step(p)}`, "data-first": a,
    "data-second": b,
    onpointerenter: (event) => tip.show(event, pairText(state, a, b)),
    onpointermove: (event) => tip.move(event), onpointerleave: () => tip.hide(),
    onclick: () => state.focusPair(a, b) },
  svg("path", { class: "reach", d }), svg("path", { class: "line", d }),
  svg("path", { class: "head", d: head }));
}

function node(state, item, x, y, width, text, group, tip) {
  const choose = () => state.focusItem(item);
  const label = state.name(item);
  const over = (event) => {
    const { focus } = state;
    if (focus !== null && "item" in focus && focus.item !== item) {
      tip.show(event, pairText(state, focus.item, item));
    } else if (text !== label) tip.show(event, [shortened(label, 300)]);
  };
  return svg("g", { class: "node", tabindex: 0, role: "button", "data-item": item,
    "aria-label": shortened(label, 120), transform: `translate(${x},${y})`, onclick: choose,
    onkeydown: (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose();
    }, onpointerenter: over, onpointermove: (event) => tip.move(event),
    onpointerleave: () => tip.hide() },
  svg("rect", { x: -width / 2, y: -HEIGHT / 2, width, height: HEIGHT, rx: 7 }),
  group === null ? null : groupMark(group, -width / 2 + 14),
  svg("text", { x: group === null ? 0 : 8, y: 4.5 }, text));
}

/** Items that no precedence above the threshold touches stand apart. */
function freeItems(state, related) {
  const free = state.data.items.map((_, k) => k).filter((k) => !related.has(k));
  if (!free.length) return [];
  const title = `${counted(free.length, "item")} without any precedence at this threshold`;
  return [html("h4", {}, title), html("div", { class: "chips" }, ...free.map((k) =>
    html("button", { class: "chip", "data-item": k, onclick: () => state.focusItem(k) },
      labelled(state.name(k), LETTERS))))];
}

/** Show what is in focus: what comes before and after it, the rest faint. */
function mark(state, drawing, apart) {
  const { focus } = state;
  const { closure } = state.order;
  const role = (k) => {
    if (focus === null) return "";
    if (!("item" in focus)) return k === focus.first || k === focus.second ? "chosen" : "faint";
    if (k === focus.item) return "chosen";
    if (closure[k][focus.item]) return "earlier";
    return closure[focus.item][k] ? "later" : "faint";
  };
  const items = [...drawing.querySelectorAll(".node"), ...apart.querySelectorAll(".chip")];
  for (const element of items) {
    element.classList.remove("chosen", "earlier", "later", "faint");
    const now = role(Number(element.dataset.item));
    if (now) element.classList.add(now);
  }
  for (const element of drawing.querySelectorAll(".edge")) {
    const ends = [Number(element.dataset.first), Number(element.dataset.second)];
    let faint = false;
    if (focus !== null && "item" in focus) {
      const roles = ends.map(role);
      faint = roles.includes("faint") || (roles[0] === "earlier" && roles[1] === "later");
    } else if (focus !== null) {
      faint = !(ends.includes(focus.first) && ends.includes(focus.second));
    }
    element.classList.toggle("faint", faint);
    element.classList.toggle("followed", focus !== null && !faint);
  }
}

let measure = null;

/** A label cut to the widest box there is, and its width in the diagram's font. */
function fitted(label) {
  if (measure === null) {
    measure = document.createElement("canvas").getContext("2d");
    measure.font = `13px ${getComputedStyle(document.body).fontFamily}`;
  }
  const text = shortenedTo(WIDEST, shortened(label, LETTERS), measure);
  return { text, width: Math.max(24, measure.measureText(text).width) };
}
