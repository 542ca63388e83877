/** What the model and the traces say about one pair. */

/**
 * @param {Object} state
 * @param {number} a
 * @param {number} b
 * @returns {{before: number, after: number, either: number, seenBefore: number, seenAfter: number}}
 */
export function pairFacts(state, a, b) {
  const { precedence, before } = state.data;
  const [ab, ba] = [precedence[a][b], precedence[b][a]];
  return {
    before: ab,
    after: ba,
    either: 1 - ab - ba < 1e-9 ? 0 : 1 - ab - ba, // what rounding leaves is no probability
    seenBefore: before[a][b],
    seenAfter: before[b][a],
  };
}

/**
 * Traces on the page that show a before b, at most so many.
 * @returns {{id: string, count: number, items: number[], at: number[]}[]} with the places of both;
 *   an item that the trace could have listed and did not stands after its end
 */
export function examples(state, a, b, most) {
  const found = [];
  for (const trace of state.data.traces) {
    const first = trace.items.indexOf(a);
    if (first < 0) continue;
    let second = trace.items.indexOf(b);
    if (second < 0 && trace.unlisted && trace.unlisted.includes(b)) second = trace.items.length;
    if (second <= first) continue;
    found.push({ ...trace, at: [first, second] });
    if (found.length === most) break;
  }
  return found;
}

/** How the traces bear on a pair: "both", "one" (only one order was seen) or "never". */
export function sighting(facts) {
  if (facts.seenBefore && facts.seenAfter) return "both";
  return facts.seenBefore || facts.seenAfter ? "one" : "never";
}

/** What to make of a pair, in a sentence. */
export function pairVerdict(state, facts) {
  const { sure, is_point: point } = state.data;
  const seen = sighting(facts);
  if (seen === "never") {
    return "Never seen together: what is said here rests on other pairs and on the model.";
  }
  if (seen === "one" && Math.max(facts.before, facts.after) >= sure && !point) {
    return "Seen in one order only: the data cannot tell a prerequisite from a habit.";
  }
  if (seen === "one") return "Seen in one order only: more traces may still show the other.";
  if (Math.max(facts.before, facts.after) >= (point ? 0.5 : sure)) {
    return "Seen in both orders, but the result takes one of them for noise.";
  }
  if (facts.either >= (point ? 0.5 : sure)) {
    return "Seen in both orders: free to swap, unless those traces are faulty.";
  }
  return "Seen in both orders, and the result leaves the pair open.";
}
