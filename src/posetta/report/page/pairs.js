/** Lists of pairs: ordered, free, undecided, and those that the data cannot identify. */

import { html, labelled, probability, refill, step } from "./dom.js";
import { pairFacts, sighting } from "./evidence.js";

const SHOWN = 12;
const MOST = 2000;

/**
 * Every pair once, the likelier order first, sorted into lists.
 * @returns {{ordered: Object[], free: Object[], undecided: Object[], oneOrder: Object[],
 *   never: Object[]}} The last two say what the traces hold, and overlap with the first three.
 */
export function sortedPairs(state) {
  const lists = { ordered: [], free: [], undecided: [], oneOrder: [], never: [] };
  const { sure, is_point: point } = state.data;
  for (let i = 0; i < state.n; i++) {
    for (let j = i + 1; j < state.n; j++) {
      const facts = pairFacts(state, i, j);
      const forward = facts.before > facts.after ||
        (facts.before === facts.after && facts.seenBefore >= facts.seenAfter);
      const pair = forward ? { first: i, second: j, ...facts }
        : { first: j, second: i, ...pairFacts(state, j, i) };
      const limit = point ? 0.5 : sure;
      if (pair.before >= limit) lists.ordered.push(pair);
      else if (pair.either >= limit) lists.free.push(pair);
      else lists.undecided.push(pair);
      if (sighting(pair) === "one") lists.oneOrder.push(pair);
      if (sighting(pair) === "never") lists.never.push(pair);
    }
  }
  const seen = (pair) => pair.seenBefore + pair.seenAfter;
  lists.ordered.sort((a, b) => b.before - a.before || seen(b) - seen(a));
  lists.free.sort((a, b) => b.either - a.either || seen(b) - seen(a));
  lists.undecided.sort((a, b) => Math.max(a.before, a.either) - Math.max(b.before, b.either));
  lists.oneOrder.sort((a, b) => seen(a) - seen(b) || a.before - b.before);
  lists.never.sort((a, b) => a.before - b.before);
  return lists;
}

/** The section: a button for each list. */
export function pairLists(state) {
  const lists = sortedPairs(state);
  const percent = `${Math.round(state.data.sure * 100)} %`;
  const point = state.data.is_point;
  const tabs = [
    ["ordered", "Ordered", point ? "Pairs that the order fixes."
      : `Pairs with a fixed order, probability at least ${percent}; the surest first.`],
    ["free", "Free", point ? "Pairs that the order leaves free."
      : `Pairs that may come either way, probability at least ${percent}: safe to swap, or to ` +
        "run side by side."],
    ["undecided", "Undecided", "Pairs that are neither: more traces would help most here; the " +
      "most open first."],
    ["oneOrder", "Seen one way only", "Every trace that holds both shows the same order. The " +
      "data alone cannot tell such a pair from a prerequisite, however likely it is; the fewest " +
      "sightings first."],
    ["never", "Never together", "No trace holds both. Their probabilities rest on other pairs " +
      "and on the prior."],
  ].filter(([key]) => !(point && key === "undecided"));
  const body = html("div", { id: "pair-list" });
  const buttons = tabs.map(([key, title, words]) => html("button", {
    class: "tab", "data-list": key, "aria-controls": "pair-list",
    onclick: () => choose(key, words),
  }, title, " ", html("span", { class: "tally" }, lists[key].length.toLocaleString("en"))));
  const choose = (key, words) => {
    for (const button of buttons) {
      button.setAttribute("aria-pressed", String(button.dataset.list === key));
    }
    refill(body, html("p", { class: "muted" }, words), ...table(state, lists[key]));
  };
  choose(tabs[0][0], tabs[0][2]);
  return html("div", { class: "pairs" }, html("div", { role: "group", class: "tabs",
    "aria-label": "Lists of pairs" }, ...buttons), body);
}

function table(state, pairs) {
  if (!pairs.length) return [html("p", {}, "None.")];
  const body = html("tbody", {}, ...pairs.slice(0, SHOWN).map((pair) => row(state, pair)));
  const shown = html("table", { class: "pair-table" }, html("thead", {}, html("tr", {},
    ...["pair", "first → second", "second → first", "either", "seen"].map((text) =>
      html("th", { scope: "col" }, text)))), body);
  if (pairs.length <= SHOWN) return [shown];
  const rest = pairs.slice(SHOWN, MOST);
  const over = pairs.length > MOST ? ` of ${pairs.length.toLocaleString("en")}` : "";
  const more = html("button", { class: "link", onclick: () => {
    body.append(...rest.map((pair) => row(state, pair)));
    more.remove();
  } }, over ? `Show ${MOST.toLocaleString("en")}${over}` : `Show all ${pairs.length}`);
  return [shown, more];
}

function row(state, pair) {
  const number = (label, p, strong) => html("td", { class: "number", "data-label": label },
    html("span", { class: strong ? `dot step${step(p)}` : "dot none" }), probability(p));
  const name = (item) => labelled(state.name(item), 40);
  return html("tr", {},
    html("td", {}, html("button", { class: "link pair-name",
      onclick: () => state.focusPair(pair.first, pair.second) },
    name(pair.first), html("span", { class: "arrow" }, " → "), name(pair.second))),
    number("→", pair.before, true), number("←", pair.after, false),
    number("either", pair.either, false),
    html("td", { class: "number", "data-label": "seen" },
      `${pair.seenBefore} : ${pair.seenAfter}`));
}
