/** Put the page together from the data that stand in it. */

import { html, refill } from "./dom.js";
import { makeState } from "./state.js";
import { card } from "./card.js";
import { diagram } from "./diagram.js";
import { heatmap } from "./heatmap.js";
import { pairLists } from "./pairs.js";
import {
  convergence, foot, groupTable, head, heldOut, levels, provenance, scalars, section, surprise,
  truthScores,
} from "./sections.js";

const data = JSON.parse(document.getElementById("data").textContent);
const state = makeState(data);
const tip = floatingTip();
const drawing = diagram(state, tip);
const sections = [
  section("order", "What must come before what", data.is_point
    ? "Earlier items first. A line is a direct precedence. Choose an item or a line to see more."
    : "Earlier items first. A line is a direct precedence; strong lines are sure ones. Move the " +
      "slider to ask for more or less certainty, and choose an item or a line to see the evidence.",
  html("div", { class: "card" }, drawing)),
  data.groups === null ? null : section("groups", "Agreement with the groups", null,
    html("div", { class: "card" }, groupTable(data))),
  state.n < 2 ? null : section("heat", "All pairs at a glance",
    "Probability that the row comes before the column, earliest items first. Full colour is a " +
    "sure precedence, half tones are open. Choose a cell to see the evidence.",
    html("div", { class: "card" }, heatmap(state, tip), heatLegend())),
  state.n < 2 ? null : section("pairs", "Pair by pair", null,
    html("div", { class: "card" }, pairLists(state))),
  section("levels", "What could run in parallel",
    "Items on one level have no precedence among them at the threshold above.", levels(state)),
  data.truth === null && data.test === null ? null : section("scores", "How good is it?", null,
    html("div", { class: "card" }, data.truth === null ? null : truthScores(state),
      data.test === null ? null : heldOut(data))),
  data.surprise === null ? null : section("surprise", "The most surprising traces",
    "Training traces that fit the result worst: faulty records, exceptions, or a sign that the " +
    "order is not the whole story. 0 bits: every step was certain.",
    html("div", { class: "card" }, surprise(state))),
  data.scalars.length === 0 ? null : section("scalars", "The model's numbers", data.is_point ? null
    : "Histograms of the draws; the line is the mean, the strong bars hold 5 to 95 %.",
  scalars(data)),
  section("convergence", "Did it converge?", null,
    html("div", { class: "card" }, ...convergence(data))),
  section("provenance", "How it was made", null,
    html("div", { class: "card" }, ...provenance(data))),
];
const kept = sections.filter((part) => part !== null);
refill(document.getElementById("page"), head(data), contents(kept), ...kept, foot(data),
  card(state), tip.element);
drawing.start();

function contents(kept) {
  return html("nav", { class: "contents", "aria-label": "Contents" }, ...kept.map((part) =>
    html("a", { href: `#${part.id}` }, part.querySelector("h2").textContent)));
}

function heatLegend() {
  return html("div", { class: "legend" }, html("span", {}, "0"),
    html("span", { class: "heat-scale", "aria-hidden": "true" }), html("span", {}, "1"),
    html("span", { class: "muted" }, "Pr(row before column)"));
}

/** The hint that floats beside the pointer. */
function floatingTip() {
  const element = html("div", { class: "tip", id: "tip", role: "tooltip", hidden: true });
  const move = (event) => {
    const [width, height] = [element.offsetWidth, element.offsetHeight];
    const x = Math.min(event.clientX + 14, window.innerWidth - width - 8);
    const below = event.clientY + 18;
    const y = below + height > window.innerHeight ? event.clientY - height - 12 : below;
    element.style.transform = `translate(${Math.max(8, x)}px, ${Math.max(8, y)}px)`;
  };
  return {
    element,
    move,
    show(event, rows) {
      refill(element, ...rows.map((text, k) =>
        html(k ? "div" : "strong", { dir: "auto" }, text)));
      element.hidden = false;
      move(event);
    },
    hide() {
      element.hidden = true;
    },
  };
}
