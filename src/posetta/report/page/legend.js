/** What lines and marks stand for. */

import { html, labelled, svg } from "./dom.js";

/** Marks of groups: colour and shape, so that either is enough. */
const MARKS = [
  "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0Z", "M-4.5,-4.5h9v9h-9Z", "M0,-5.5L5.5,4.5H-5.5Z",
  "M0,-6L6,0L0,6L-6,0Z", "M0,5.5L5.5,-4.5H-5.5Z", "M-6,-2h4v-4h4v4h4v4h-4v4h-4v-4h-4Z",
];

/** The mark of a group as an SVG element. */
export function groupMark(group, x = 0, y = 0) {
  return svg("path", { class: `mark g${group % 8}`, d: MARKS[group % MARKS.length],
    transform: `translate(${x},${y})` });
}

/** Five steps of probability. */
export function certaintyLegend() {
  const words = ["below 0.60", "from 0.60", "from 0.75", "from 0.90", "from 0.99"];
  return html("div", { class: "legend" }, html("span", {}, "Probability of a line"),
    ...words.map((text, k) => html("span", { class: "key" },
      svg("svg", { width: 30, height: 10, class: `edge step${k + 1}`, "aria-hidden": "true" },
        svg("path", { class: "line", d: "M0,5H30" })), text)));
}

/** The groups with their marks. */
export function groupLegend(data) {
  return html("div", { class: "legend" }, html("span", {}, "Groups"),
    ...data.groups.names.map((name, k) => html("span", { class: "key" },
      svg("svg", { width: 14, height: 14, "aria-hidden": "true" }, groupMark(k, 7, 7)),
      labelled(name, 40))));
}
