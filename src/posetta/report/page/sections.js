/** The plainer parts: head, levels, groups, scalars, convergence, scores, provenance. */

import { counted, figure, html, labelled, probability, refill, svg } from "./dom.js";
import { histogram, lines, reliability } from "./charts.js";
import { groupMark } from "./legend.js";

const BAD = ["unmixed", "diverged", "budget_reached"];

/** A section of the page with a heading and one sentence that says how to read it. */
export function section(id, title, words, ...children) {
  return html("section", { id, class: "part", "aria-labelledby": `${id}-title` },
    html("h2", { id: `${id}-title` }, title),
    words === null ? null : html("p", { class: "lede" }, words), ...children);
}

/** What was fitted, the outcome in a sentence, and whether to trust it. */
export function head(data) {
  const { head: facts } = data;
  const fact = (value, words) => html("div", { class: "fact" },
    html("strong", {}, typeof value === "number" ? value.toLocaleString("en") : value),
    html("span", {}, words));
  const noun = (n, word) => (n === 1 ? word : `${word}s`);
  const distinct = facts.n_unique === facts.n_traces ? "" : `, ${facts.n_unique} distinct`;
  return html("header", { class: "head" },
    html("p", { class: "eyebrow" }, "Posetta report"),
    html("h1", {}, html("bdi", {}, facts.title)),
    html("p", { class: "verdict", id: "verdict" }, facts.verdict),
    banner(facts),
    html("div", { class: "facts" }, fact(facts.n_items, noun(facts.n_items, "item")),
      fact(facts.n_traces, noun(facts.n_traces, "trace") + distinct),
      fact(facts.levels, noun(facts.levels, "level")),
      fact(facts.method, facts.method_words)));
}

function banner(facts) {
  const fair = facts.status === "approximate" ? "fair" : "good";
  const kind = BAD.includes(facts.status) ? "bad" : fair;
  const label = { bad: "Not converged", fair: "Approximate", good: "Status ok" }[kind];
  const title = facts.status === "budget_reached" ? "Stopped early" : label;
  return html("div", { class: `banner ${kind}`, id: "status", role: kind === "bad" ? "alert" : null,
    "data-status": facts.status },
  html("strong", {}, title), html("span", {}, facts.status_words),
  facts.warnings.length
    ? html("ul", {}, ...facts.warnings.map((words) => html("li", {}, words))) : null);
}

/** Items of each level, which no precedence above the threshold orders among themselves. */
export function levels(state) {
  const list = html("ol", { class: "levels" });
  const show = () => {
    const { level } = state.order;
    const rows = Array.from({ length: state.n ? Math.max(...level) + 1 : 0 }, () => []);
    level.forEach((k, item) => rows[k].push(item));
    refill(list, ...rows.map((items) => html("li", {}, html("div", { class: "chips" },
      ...items.map((item) => html("button", { class: "chip", onclick: () => state.focusItem(item) },
        labelled(state.name(item), 40)))))));
  };
  state.on("order", show);
  show();
  return list;
}

/** How far the order agrees with the groups. */
export function groupTable(data) {
  const { names, sizes, before, along } = data.groups;
  const size = { width: 14, height: 14, "aria-hidden": "true" };
  const mark = (k) => svg("svg", size, groupMark(k, 7, 7));
  const rows = names.map((name, g) => html("tr", {},
    html("th", { scope: "row" }, mark(g), " ", labelled(name, 40),
      html("span", { class: "muted" }, ` ${sizes[g]}`)),
    ...names.map((_, h) => html("td", { class: "number" },
      g === h && sizes[g] < 2 ? "–" : probability(before[g][h])))));
  const words = along === null ? "Nothing orders items of different groups."
    : `${Math.round(along * 100)} % of the precedence between groups runs down this list; ` +
      "50 % would be no agreement at all.";
  return html("div", {}, html("p", { id: "group-agreement" }, words),
    html("div", { class: "scroll" }, html("table", { class: "plain" },
      html("thead", {}, html("tr", {}, html("td", {}), ...names.map((name, k) =>
        html("th", { scope: "col" }, mark(k), " ", labelled(name, 16))))),
      html("tbody", {}, ...rows))),
    html("p", { class: "muted" }, "Each cell: the share of pairs in which an item of the row's " +
      "group precedes one of the column's."));
}

/** Posterior of the scalars and of the order's shape. */
export function scalars(data) {
  return html("div", { class: "grid" }, ...data.scalars.map((scalar) => {
    const single = "value" in scalar;
    const words = data.is_point ? "" : " in every draw";
    return html("figure", { class: "chart-box scalar" },
      html("figcaption", {}, html("strong", {}, scalar.name), " ",
        html("span", { class: "muted" }, single ? `${figure(scalar.value)}${words}`
          : `${figure(scalar.mean)} ± ${figure(scalar.sd)}`)),
      single ? null : histogram(scalar), html("p", { class: "muted" }, scalar.meaning));
  }));
}

/** Chains, R-hat and ESS, or the climb of the ELBO. */
export function convergence(data) {
  const poorIf = (poor) => (poor ? "number poor" : "number");
  const { lines: panels, quantities, limits, facts } = data.convergence;
  return [
    panels.length ? html("div", { class: "grid wide" }, ...panels.map(lines)) : null,
    quantities.length ? html("div", { class: "scroll" }, html("table", { class: "plain" },
      html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "quantity"),
        html("th", { scope: "col" }, "R-hat"), html("th", { scope: "col" }, "effective draws"))),
      html("tbody", {}, ...quantities.map((row) => html("tr", {},
        html("th", { scope: "row" }, row.name),
        html("td", { class: poorIf(row.r_hat === null || row.r_hat > limits.r_hat) },
          row.r_hat === null ? "not finite" : row.r_hat.toFixed(2)),
        html("td", { class: poorIf(row.ess !== null && row.ess < limits.ess) },
          figure(row.ess === null ? null : Math.round(row.ess)))))))) : null,
    facts.length ? html("dl", { class: "facts-list" }, ...facts.flatMap((fact) => [
      html("dt", {}, fact.name), html("dd", {},
        fact.wanted && fact.value === null ? "not finite" : figure(fact.value),
        fact.wanted ? html("span", { class: "muted" }, ` (${fact.wanted})`) : null)]))
      : html("p", { class: "muted" }, "This method keeps no record of its convergence."),
  ];
}

/** Scores against a true order, which follow the threshold. */
export function truthScores(state) {
  const { truth } = state.data;
  const row = html("dl", { class: "facts-list", id: "scores" });
  const wanted = new Set(truth.closure.map(([i, j]) => i * state.n + j));
  const show = () => {
    let [recovered, said] = [0, 0];
    state.order.closure.forEach((line, i) => line.forEach((related, j) => {
      if (!related) return;
      said++;
      if (wanted.has(i * state.n + j)) recovered++;
    }));
    const precision = said ? recovered / said : 1;
    const recall = wanted.size ? recovered / wanted.size : 1;
    const f1 = precision + recall ? 2 * precision * recall / (precision + recall) : 0;
    const entries = [["precision", precision], ["recall", recall], ["F1", f1],
      ["Brier score of all pairs", truth.brier]];
    refill(row, ...entries.flatMap(([name, number]) =>
      [html("dt", {}, name), html("dd", {}, number.toFixed(3))]));
  };
  state.on("order", show);
  show();
  return html("div", { class: "split" }, row,
    truth.reliability ? reliability(truth.reliability)
      : html("p", { class: "muted" }, "One order has no probabilities to calibrate."));
}

/** NLL of held-out traces. */
export function heldOut(data) {
  const shown = (row) => row.value !== null
    ? `${figure(row.value)}${row.standard_error === null ? "" : ` ± ${figure(row.standard_error)}`}`
    : `infinite: ${row.n_impossible} of ${row.n} impossible; ${figure(row.finite_mean)} for ` +
      "the rest";
  return html("div", {}, html("h3", {}, `Held-out traces (${data.test.n_traces})`),
    html("dl", { class: "facts-list" }, ...data.test.rows.flatMap((row) => [
      html("dt", {}, `NLL of a ${row.name}, ${row.likelihood} likelihood`),
      html("dd", {}, shown(row))])));
}

/** Traces that the result expects least. */
export function surprise(state) {
  const rows = state.data.surprise.map((entry) => html("li", {},
    html("details", {}, html("summary", {},
      html("span", { class: "surprise-id" }, labelled(entry.id, 40),
        entry.count > 1 ? html("span", { class: "muted" }, ` ×${entry.count}`) : null),
      html("span", { class: "number" }, entry.bits === null ? "impossible"
        : `${entry.bits.toFixed(2)} bits a step`),
      html("span", { class: "muted" }, `step ${entry.step + 1}: `,
        labelled(state.name(entry.items[entry.step]), 40),
        `, chance ${probability(entry.probability)}`,
        ` where a blind guess has ${probability(1 / entry.candidates)}`)),
    html("p", { class: "sequence" }, ...entry.items.flatMap((item, k) => [
      k ? html("span", { class: "muted" }, " → ") : null,
      html(k === entry.step ? "mark" : "span", {}, labelled(state.name(item), 40))])))));
  const list = html("ol", { class: "surprise" }, ...rows.slice(0, 10));
  const more = rows.length > 10 ? html("button", { class: "link", onclick: () => {
    list.append(...rows.slice(10));
    more.remove();
  } }, `Show all ${rows.length}`) : null;
  return html("div", {}, list, more);
}

/** How the result was made, and how to make it again. */
export function provenance(data) {
  const { provenance: made } = data;
  const table = (title, rows) => html("section", {}, html("h3", {}, title),
    html("dl", { class: "facts-list" }, ...rows.flatMap(([name, value]) =>
      [html("dt", {}, name), html("dd", {}, value)])));
  return [
    made.command === null ? null : html("div", {}, html("h3", {}, "settings.toml"),
      html("pre", { id: "command" }, made.command)),
    made.python === null ? null : html("div", {}, html("h3", {}, "In Python"),
      html("pre", {}, made.python)),
    html("div", { class: "grid wide" }, table("Run", made.run), table("Settings", made.settings),
      table("Model", made.model), table("Data", made.data)),
  ];
}

/** "40 traces, 13 items" for the foot of the page. */
export function foot(data) {
  const size = `${counted(data.n_traces, "trace")}, ${counted(data.items.length, "item")}. `;
  return html("footer", {}, size,
    "An inferred order is decision support, not proof of cause or rank.");
}
