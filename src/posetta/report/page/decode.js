/** From pair probabilities to one order: the same steps as `posetta.posterior.decode`. */

/**
 * Keep pairs above the threshold, break cycles at their least probable pair, close, reduce.
 * @param {number[][]} precedence Pr(i before j)
 * @param {number} threshold
 * @returns {{closure: boolean[][], covers: number[][], level: number[]}} covers as [i, j]
 */
export function decode(precedence, threshold) {
  const n = precedence.length;
  let relation = precedence.map((row, i) => row.map((p, j) => i !== j && p > threshold));
  let order = topologicalOrder(relation);
  if (order === null) {
    relation = withoutCycles(relation, precedence);
    order = topologicalOrder(relation);
  }
  const closure = closed(relation, order);
  const covers = [];
  const level = new Array(n).fill(0);
  const place = [];
  order.forEach((item, k) => (place[item] = k));
  for (const i of order) {
    // A pair is a cover unless one of the successors of i leads to j; nearest successors first.
    const successors = order.slice(place[i] + 1).filter((j) => closure[i][j]);
    const implied = new Array(n).fill(false);
    for (const j of successors) {
      level[j] = Math.max(level[j], level[i] + 1);
      if (!implied[j]) covers.push([i, j]);
      for (let k = 0; k < n; k++) if (closure[j][k]) implied[k] = true;
    }
  }
  covers.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return { closure, covers, level };
}

/** Items so that every pair points forward, or null if there is a cycle. */
function topologicalOrder(relation) {
  const n = relation.length;
  const waits = new Array(n).fill(0);
  for (const row of relation) row.forEach((related, j) => (waits[j] += related ? 1 : 0));
  const order = [];
  for (let i = 0; i < n; i++) if (waits[i] === 0) order.push(i);
  for (let k = 0; k < order.length; k++) {
    relation[order[k]].forEach((related, j) => {
      if (related && --waits[j] === 0) order.push(j);
    });
  }
  return order.length === n ? order : null;
}

/**
 * Remove (i, j) if the pairs that weigh no less lead from j back to i: if the widest path from j to
 * i, the one whose lightest pair is heaviest, is as heavy as (i, j). That is what taking the least
 * pair (all ties at once) out of every strongly connected component comes to.
 */
function withoutCycles(relation, weight) {
  const n = relation.length;
  const widest = relation.map((row, i) => row.map((r, j) => (r ? weight[i][j] : -Infinity)));
  for (let k = 0; k < n; k++) {
    for (let i = 0; i < n; i++) {
      const first = widest[i][k];
      if (first === -Infinity) continue;
      for (let j = 0; j < n; j++) {
        const through = Math.min(first, widest[k][j]);
        if (through > widest[i][j]) widest[i][j] = through;
      }
    }
  }
  return relation.map((row, i) => row.map((r, j) => r && weight[i][j] > widest[j][i]));
}

/** The transitive closure, from the last item to the first. */
function closed(relation, order) {
  const closure = relation.map((row) => row.slice());
  for (const i of order.slice().reverse()) {
    relation[i].forEach((related, j) => {
      if (related) closure[j].forEach((further, k) => further && (closure[i][k] = true));
    });
  }
  return closure;
}
