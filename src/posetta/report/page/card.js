/** The card in the corner: one pair, or one item with all that it must follow or lead. */

import { counted, html, labelled, probability, refill, shortened, step } from "./dom.js";
import { examples, pairFacts, pairVerdict } from "./evidence.js";

const EXAMPLES = 2;
const AROUND = 2;
const LISTED = 12;

/** The card, kept up to date with what is in focus. */
export function card(state) {
  const box = html("aside", { class: "card drawer", id: "card", "aria-live": "polite", hidden: true,
    "aria-label": "The chosen item or pair", tabindex: -1 });
  let shown = null;
  let opener = null; // where the keyboard was when the card opened
  state.on("focus", () => {
    const { focus } = state;
    const active = document.activeElement;
    const inside = box.contains(active);
    const byKey = !inside && active.matches(":focus-visible:not(input)");
    box.hidden = focus === null;
    if (focus === null) refill(box);
    else if ("item" in focus) refill(box, itemCard(state, focus.item));
    else refill(box, pairCard(state, focus.first, focus.second));
    box.scrollTop = 0;
    if (focus === shown) return; // only the threshold moved
    shown = focus;
    if (focus === null) {
      if (inside && opener !== null && opener.isConnected) opener.focus();
      opener = null;
    } else if (inside || byKey) {
      if (byKey) opener = active;
      box.focus();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && state.focus !== null) state.clear();
  });
  return box;
}

/** One line of text for a pair, as the floating hint shows it. */
export function pairText(state, a, b) {
  const facts = pairFacts(state, a, b);
  const [first, second] = [shortened(state.name(a), 40), shortened(state.name(b), 40)];
  return [
    `\u2068${first}\u2069 → \u2068${second}\u2069`, // isolated, whatever their direction
    `Pr(before) ${probability(facts.before)} · Pr(after) ${probability(facts.after)} · ` +
      `Pr(either) ${probability(facts.either)}`,
    `seen before ${facts.seenBefore}×, after ${facts.seenAfter}×`,
  ];
}

function pairCard(state, a, b) {
  const facts = pairFacts(state, a, b);
  const first = () => labelled(state.name(a), 40);
  const second = () => labelled(state.name(b), 40);
  const seen = facts.seenBefore + facts.seenAfter;
  return [
    head(state, "Pair"),
    html("h3", { class: "pair" }, itemLink(state, a), html("span", { class: "arrow" }, "→"),
      itemLink(state, b)),
    bar([first(), " before ", second()], facts.before),
    bar([second(), " before ", first()], facts.after),
    bar(["either order"], facts.either),
    html("p", { class: "verdict-small" }, pairVerdict(state, facts)),
    truthLine(state, a, b),
    html("h4", {}, "In the traces"),
    html("p", { class: "seen" }, seen === 0
      ? "No trace holds both."
      : `${counted(seen, "trace")} of ${state.data.n_traces.toLocaleString("en")} ` +
        `${seen === 1 ? "holds" : "hold"} both: ` +
        `${facts.seenBefore} in this order, ${facts.seenAfter} in the other.`),
    ...[[a, b], [b, a]].flatMap(([x, y]) =>
      examples(state, x, y, EXAMPLES).map((trace) => example(state, trace))),
  ];
}

function truthLine(state, a, b) {
  if (!state.data.truth) return null;
  const has = (x, y) => state.data.truth.closure.some(([i, j]) => i === x && j === y);
  const words = has(a, b) ? "comes before" : has(b, a) ? "comes after" : "is free of";
  return html("p", { class: "seen" }, "In the true order ", labelled(state.name(a), 40),
    ` ${words} `, labelled(state.name(b), 40), ".");
}

function bar(words, p) {
  const fill = html("span", { class: `fill step${step(p)}` });
  fill.style.width = `${p * 100}%`;
  return html("div", { class: "bar-row" },
    html("span", { class: "bar-label" }, ...words),
    html("span", { class: "bar-value" }, probability(p)),
    html("span", { class: "bar", "aria-hidden": "true" }, fill));
}

/** A trace cut down to the two items and what stands around them. */
function example(state, trace) {
  const parts = [];
  let gap = false;
  trace.items.forEach((item, k) => {
    const near = trace.at.some((place) => Math.abs(place - k) <= AROUND - 1);
    if (!near) {
      gap = true;
      return;
    }
    const between = parts.length ? (gap ? " … " : " · ") : (gap ? "… " : "");
    if (between) parts.push(html("span", { class: "muted" }, between));
    gap = false;
    const chosen = trace.at.includes(k);
    parts.push(html(chosen ? "strong" : "span", {}, labelled(state.name(item), 30)));
  });
  if (gap) parts.push(html("span", { class: "muted" }, " …"));
  if (trace.at[1] === trace.items.length) {
    parts.push(html("span", { class: "muted" }, " … the other not listed"));
  }
  const times = trace.count > 1 ? ` ×${trace.count}` : "";
  return html("div", { class: "example" },
    html("span", { class: "example-id" }, labelled(trace.id, 30), times),
    html("div", {}, ...parts));
}

function itemCard(state, item) {
  const { closure } = state.order;
  const { precedence } = state.data;
  const others = Array.from({ length: state.n }, (_, k) => k).filter((k) => k !== item);
  const before = others.filter((k) => closure[k][item]);
  const after = others.filter((k) => closure[item][k]);
  const free = others.filter((k) => !closure[k][item] && !closure[item][k]);
  const by = (value) => (x, y) => value(y) - value(x);
  before.sort(by((k) => precedence[k][item]));
  after.sort(by((k) => precedence[item][k]));
  free.sort(by((k) => pairFacts(state, item, k).either));
  const groups = state.data.groups;
  const group = groups && groups.of_item[item] >= 0 ? groups.names[groups.of_item[item]] : null;
  const label = state.data.items[item];
  return [
    head(state, "Item"),
    html("h3", { class: "whole" }, html("bdi", {}, state.name(item))),
    label === state.name(item) ? null : html("p", { class: "muted" }, labelled(label)),
    group === null ? null : html("p", { class: "muted" }, "Group: ", labelled(group)),
    list(state, "Must come before it", before, (k) => precedence[k][item], (k) => [k, item]),
    list(state, "Must come after it", after, (k) => precedence[item][k], (k) => [item, k]),
    list(state, "Free partners", free, (k) => pairFacts(state, item, k).either, (k) => [item, k]),
  ];
}

function list(state, title, items, value, pair) {
  const rows = (shown) => shown.map((k) => html("li", {},
    html("button", { class: "row", onclick: () => state.focusPair(...pair(k)) },
      html("span", {}, labelled(state.name(k), 44)),
      html("span", { class: "number" }, probability(value(k))))));
  const body = html("ul", { class: "rows" }, ...rows(items.slice(0, LISTED)));
  const more = items.length > LISTED
    ? html("button", { class: "link", onclick: (event) => {
      refill(body, ...rows(items));
      event.target.remove();
      body.children[LISTED].querySelector("button").focus();
    } }, `Show all ${items.length}`)
    : null;
  return html("section", {}, html("h4", {}, `${title} `, html("span", { class: "tally" },
    String(items.length))), items.length ? body : html("p", { class: "muted" }, "None."), more);
}

function itemLink(state, item) {
  return html("button", { class: "link strong", onclick: () => state.focusItem(item) },
    labelled(state.name(item), 60));
}

function head(state, kind) {
  return html("div", { class: "card-head" }, html("span", { class: "eyebrow" }, kind),
    html("button", { class: "link", onclick: () => state.clear() }, "Close"));
}
