/** The controls above the diagram: threshold, search, zoom and turn. */

import { html, labelled, refill } from "./dom.js";

/**
 * @param {Object} state
 * @param {(item: number) => void} show brings an item into view
 * @param {Object} view of `viewport`
 * @param {() => void} turn the diagram
 */
export function controls(state, show, view, turn) {
  const value = html("output", { for: "threshold", id: "threshold-value" });
  const slider = html("input", { type: "range", id: "threshold", min: 0, max: 0.99, step: 0.01,
    oninput: (event) => state.setThreshold(Number(event.target.value)) });
  slider.value = state.threshold;
  const say = () => (value.textContent = state.threshold.toFixed(2));
  state.on("order", say);
  say();
  const button = (text, label, action) =>
    html("button", { class: "tool", "aria-label": label, title: label, onclick: action }, text);
  return html("div", { class: "controls" },
    state.data.is_point ? null : html("label", { class: "slider", for: "threshold" },
      html("span", {}, "Show precedences more probable than "), value, slider),
    search(state, show),
    html("div", { class: "tools" },
      button("−", "Zoom out", () => view.zoom(1 / 1.25)),
      button("+", "Zoom in", () => view.zoom(1.25)),
      button("Fit", "Show everything", () => view.fit()),
      button("Turn", "Turn the diagram", turn)));
}

function search(state, show) {
  const found = html("div", { class: "found", id: "found" });
  const look = (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    const hits = [];
    for (let k = 0; wanted && k < state.n && hits.length < 8; k++) {
      const text = `${state.name(k)}\n${state.data.items[k]}`.toLowerCase();
      if (text.includes(wanted)) hits.push(k);
    }
    const choose = (k) => {
      show(k);
      refill(found);
    };
    if (event.key === "Enter" && hits.length) return choose(hits[0]);
    if (event.key === "Escape") return refill(found);
    refill(found, ...hits.map((k) =>
      html("button", { class: "row", onclick: () => choose(k) }, labelled(state.name(k), 44))));
    if (wanted && !hits.length) refill(found, html("p", { class: "muted" }, "No such item."));
  };
  return html("div", { class: "search" },
    html("input", { type: "search", id: "search", placeholder: "Find an item",
      "aria-label": "Find an item", autocomplete: "off", oninput: look, onkeydown: (event) => {
        if (event.key === "Enter" || event.key === "Escape") look(event);
      } }), found);
}
