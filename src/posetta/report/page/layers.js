/**
 * Layers of a diagram: every item below all that precede it, long edges through dummy vertices.
 * Long edges that leave the same item, or enter the same item, share their dummies and so are drawn
 * as one branching line.
 */

/**
 * @typedef {Object} Layered
 * @property {number[][]} layers vertices of each layer, in drawing order
 * @property {number[]} layerOf layer of each vertex
 * @property {number[][]} up neighbours in the layer before
 * @property {number[][]} down neighbours in the layer after
 * @property {number[][]} chains for each edge its vertices, from item to item
 * @property {number} items vertices below this number are items, the others dummies
 */

/**
 * Put items on layers by the longest path from a first item, and cut edges at every layer.
 * @param {number} n number of items
 * @param {number[][]} edges pairs [earlier, later], without cycles
 * @returns {Layered}
 */
export function layered(n, edges) {
  const layerOf = longestPaths(n, edges);
  const long = edges.filter(([from, to]) => layerOf[to] > layerOf[from] + 1);
  const leaving = new Array(n).fill(0);
  const entering = new Array(n).fill(0);
  for (const [from, to] of long) {
    leaving[from]++;
    entering[to]++;
  }
  const dummies = new Map();
  const dummy = (owner, layer) => {
    const key = `${owner} ${layer}`;
    if (!dummies.has(key)) {
      dummies.set(key, layerOf.length);
      layerOf.push(layer);
    }
    return dummies.get(key);
  };
  const chains = edges.map(([from, to]) => {
    const owner = leaving[from] >= entering[to] ? `from ${from}` : `to ${to}`;
    const chain = [from];
    for (let layer = layerOf[from] + 1; layer < layerOf[to]; layer++) {
      chain.push(dummy(owner, layer));
    }
    chain.push(to);
    return chain;
  });
  const [up, down] = [layerOf.map(() => []), layerOf.map(() => [])];
  const known = new Set();
  for (const chain of chains) {
    for (let k = 1; k < chain.length; k++) {
      const [before, after] = [chain[k - 1], chain[k]];
      if (known.has(before * layerOf.length + after)) continue;
      known.add(before * layerOf.length + after);
      down[before].push(after);
      up[after].push(before);
    }
  }
  const layers = Array.from({ length: Math.max(-1, ...layerOf) + 1 }, () => []);
  for (const vertex of depthFirst(n, layerOf, down)) layers[layerOf[vertex]].push(vertex);
  return { layers, layerOf, up, down, chains, items: n };
}

function longestPaths(n, edges) {
  const after = Array.from({ length: n }, () => []);
  const waits = new Array(n).fill(0);
  for (const [from, to] of edges) {
    after[from].push(to);
    waits[to]++;
  }
  const layer = new Array(n).fill(0);
  const ready = [];
  for (let i = 0; i < n; i++) if (waits[i] === 0) ready.push(i);
  for (let k = 0; k < ready.length; k++) {
    for (const next of after[ready[k]]) {
      layer[next] = Math.max(layer[next], layer[ready[k]] + 1);
      if (--waits[next] === 0) ready.push(next);
    }
  }
  return layer;
}

/** Vertices in the order of a walk down from the first layer: neighbours start side by side. */
function depthFirst(n, layerOf, down) {
  const seen = new Array(layerOf.length).fill(false);
  const found = [];
  for (let root = 0; root < n; root++) {
    if (layerOf[root] > 0) continue;
    const stack = [root];
    while (stack.length) {
      const vertex = stack.pop();
      if (seen[vertex]) continue;
      seen[vertex] = true;
      found.push(vertex);
      for (const next of down[vertex].slice().reverse()) stack.push(next);
    }
  }
  return found;
}
