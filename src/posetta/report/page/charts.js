/** Small charts: histograms, lines over draws or steps, and a reliability curve. */

import { figure, html, svg } from "./dom.js";

const WIDTH = 320;

/** A histogram with its mean and 5 to 95 % marked. */
export function histogram(scalar) {
  const height = 96;
  const { edges, counts } = scalar;
  const [low, high] = [edges[0], edges[edges.length - 1]];
  const x = (value) => 4 + (value - low) / (high - low) * (WIDTH - 8);
  const most = Math.max(...counts);
  const bars = counts.map((count, k) => {
    const tall = count / most * (height - 24);
    const [left, right] = [x(edges[k]), x(edges[k + 1])];
    const inside = edges[k + 1] >= scalar.q5 && edges[k] <= scalar.q95;
    return svg("rect", { class: inside ? "bin inside" : "bin", x: left + 0.5,
      y: height - 16 - tall, width: Math.max(0.5, right - left - 1), height: tall });
  });
  const base = height - 15.5;
  const words = ["mean", "q5", "q95"].map((name) => `${name} ${figure(scalar[name])}`).join(", ");
  return svg("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${height}`, role: "img",
    "aria-label": words },
  ...bars, svg("line", { class: "axis", x1: 4, x2: WIDTH - 4, y1: base, y2: base }),
  svg("line", { class: "mean", x1: x(scalar.mean), x2: x(scalar.mean), y1: 2, y2: height - 16 }),
  svg("text", { class: "tick", x: 4, y: height - 3 }, figure(low)),
  svg("text", { class: "tick", x: WIDTH - 4, y: height - 3, "text-anchor": "end" }, figure(high)));
}

/** Lines of all chains over draws (or of one climb over steps). */
export function lines(panel) {
  const [width, height, left] = [560, 190, 62];
  const values = panel.chains.flat().filter((value) => value !== null);
  let [low, high] = [Math.min(...values), Math.max(...values)];
  if (panel.unit === "step") low = Math.max(low, quantile(values, 0.05));
  if (low === high) [low, high] = [low - 1, high + 1];
  const last = panel.x[panel.x.length - 1];
  const first = panel.x[0];
  const share = (value) => (last === first ? 0.5 : (value - first) / (last - first));
  const x = (value) => left + share(value) * (width - left - 8);
  const y = (value) => 8 + (high - Math.max(low, value)) / (high - low) * (height - 36);
  const paths = panel.chains.map((chain, k) => {
    const points = chain.map((value, j) => (value === null ? null : [x(panel.x[j]), y(value)]));
    const d = points.map((point, j) => (point === null ? ""
      : `${j && points[j - 1] ? "L" : "M"}${point[0].toFixed(1)},${point[1].toFixed(1)}`)).join("");
    return svg("path", { class: `chain c${k % 8}`, d });
  });
  const ticks = [low, (low + high) / 2, high].map((value) => svg("g", {},
    svg("line", { class: "guide", x1: left, x2: width - 8, y1: y(value), y2: y(value) }),
    svg("text", { class: "tick", x: left - 8, y: y(value) + 4, "text-anchor": "end" },
      figure(value))));
  return html("figure", { class: "chart-box" }, html("figcaption", {}, panel.name),
    svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `${panel.name} over ${panel.unit}s` }, ...ticks, ...paths,
    svg("text", { class: "tick", x: left, y: height - 8 }, `${panel.unit} ${figure(first)}`),
    svg("text", { class: "tick", x: width - 8, y: height - 8, "text-anchor": "end" },
      figure(last))),
    panel.chains.length > 1 ? html("div", { class: "legend" }, ...panel.chains.map((_, k) =>
      html("span", { class: "key" }, svg("svg", { width: 22, height: 8, "aria-hidden": "true" },
        svg("path", { class: `chain c${k % 8}`, d: "M0,4H22" })), `chain ${k + 1}`))) : null);
}

function quantile(values, q) {
  const sorted = values.slice().sort((a, b) => a - b);
  return sorted[Math.floor(q * (sorted.length - 1))];
}

/** Said probability against the share that is true, dots as large as their number of pairs. */
export function reliability(bins) {
  const size = 260;
  const [left, top] = [40, 10];
  const room = size - left - 14;
  const x = (p) => left + p * room;
  const y = (p) => top + (1 - p) * room;
  const most = Math.max(...bins.map((bin) => bin.n));
  const ticks = [0, 0.5, 1].flatMap((p) => [
    svg("line", { class: "guide", x1: x(0), x2: x(1), y1: y(p), y2: y(p) }),
    svg("text", { class: "tick", x: left - 6, y: y(p) + 4, "text-anchor": "end" }, String(p)),
    svg("text", { class: "tick", x: x(p), y: y(0) + 15, "text-anchor": "middle" }, String(p)),
  ]);
  const dots = bins.map((bin) => svg("circle", { class: "reliability", cx: x(bin.said),
    cy: y(bin.true), r: 3 + 6 * Math.sqrt(bin.n / most) },
  svg("title", {}, `said ${figure(bin.said)}, true ${figure(bin.true)}, ${bin.n} pairs`)));
  return html("figure", { class: "chart-box small" },
    html("figcaption", {}, "Calibration: share that is true against probability"),
    svg("svg", { class: "chart", viewBox: `0 0 ${size} ${size}`, role: "img",
      "aria-label": "Reliability curve; on the diagonal the probabilities are honest" },
    ...ticks, svg("line", { class: "diagonal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }), ...dots));
}
