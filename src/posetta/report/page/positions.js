/** Where vertices stand in their layer: near their neighbours, long edges straight, no overlap. */

const SWEEPS = 40;
/** How hard a neighbour pulls: long edges keep straight, items keep to items. */
const PULL = { dummyByDummy: 8, dummyByItem: 1, itemByItem: 3, itemByDummy: 1 };

/**
 * Return the centre of every vertex across the layers.
 *
 * Layer by layer each vertex wishes to stand at the weighted mean of its neighbours; the places
 * nearest to all wishes that keep order and distance are a least-squares problem with one exact
 * answer, isotonic regression.
 * @param {import("./layers.js").Layered} graph ordered
 * @param {number[]} size extent of each vertex across the layers
 * @param {number} gap least distance between two items
 * @returns {number[]}
 */
export function positions(graph, size, gap) {
  const { layers, up, down, items } = graph;
  const at = new Array(graph.layerOf.length).fill(0);
  const apart = (a, b) =>
    (size[a] + size[b]) / 2 + (a < items && b < items ? gap : a < items || b < items ? gap / 2 : 4);
  for (const layer of layers) {
    let end = 0;
    layer.forEach((vertex, k) => (at[vertex] = end += k ? apart(layer[k - 1], vertex) : 0));
    for (const vertex of layer) at[vertex] -= end / 2;
  }
  const kind = (vertex) => (vertex < items ? "item" : "dummy");
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const downwards = sweep % 2 === 0;
    // At last both sides count; before, each sweep hands the places of one layer to the next.
    const both = sweep >= SWEEPS - 12;
    const order = downwards ? layers : layers.slice().reverse();
    for (const layer of order) {
      const wish = [];
      const weight = [];
      for (const vertex of layer) {
        let total = 0;
        let sum = 0;
        const near = both ? [up, down] : [downwards ? up : down];
        for (const side of near) {
          for (const other of side[vertex]) {
            const pull = PULL[kind(vertex) + (other < items ? "ByItem" : "ByDummy")];
            total += pull;
            sum += pull * at[other];
          }
        }
        wish.push(total ? sum / total : at[vertex]);
        weight.push(total || 0.05);
      }
      const distance = layer.map((vertex, k) => (k ? apart(layer[k - 1], vertex) : 0));
      isotonic(wish, weight, distance).forEach((place, k) => (at[layer[k]] = place));
    }
  }
  const runs = unbranched(graph);
  for (let round = 0; round < 3; round++) for (const run of runs) straighten(run, graph, at, apart);
  return at;
}

/** Paths on which each vertex has only the next one after it, and that one only it before. */
function unbranched({ layerOf, up, down }) {
  const next = layerOf.map((_, v) =>
    (down[v].length === 1 && up[down[v][0]].length === 1 ? down[v][0] : -1));
  const inside = new Set(next);
  const runs = [];
  layerOf.forEach((_, v) => {
    if (next[v] < 0 || inside.has(v)) return;
    const run = [v];
    while (next[run[run.length - 1]] >= 0) run.push(next[run[run.length - 1]]);
    runs.push(run);
  });
  return runs;
}

/** Put a run on one line as far as the neighbours leave room; where they do not, it bends once. */
function straighten(run, graph, at, apart) {
  let line = [];
  let [low, high] = [-Infinity, Infinity];
  const settle = () => {
    const mean = line.reduce((sum, v) => sum + at[v], 0) / line.length;
    for (const v of line) at[v] = Math.min(high, Math.max(low, mean));
  };
  for (const v of run) {
    const layer = graph.layers[graph.layerOf[v]];
    const k = layer.indexOf(v);
    const left = k > 0 ? at[layer[k - 1]] + apart(layer[k - 1], v) : -Infinity;
    const right = k + 1 < layer.length ? at[layer[k + 1]] - apart(v, layer[k + 1]) : Infinity;
    if (line.length && Math.max(low, left) > Math.min(high, right)) {
      settle();
      line = [];
      [low, high] = [-Infinity, Infinity];
    }
    line.push(v);
    [low, high] = [Math.max(low, left), Math.min(high, right)];
  }
  settle();
}

/**
 * The places nearest to the wishes (weighted squares) of which each is at least `distance[k]` after
 * the one before: pool neighbours that would violate it, and give each pool its mean.
 * @param {number[]} wish
 * @param {number[]} weight
 * @param {number[]} distance
 * @returns {number[]}
 */
export function isotonic(wish, weight, distance) {
  const offset = [];
  let sum = 0;
  for (const d of distance) offset.push((sum += d));
  const pools = [];
  wish.forEach((w, k) => {
    let pool = { value: w - offset[k], weight: weight[k], size: 1 };
    while (pools.length && pools[pools.length - 1].value > pool.value) {
      const before = pools.pop();
      const together = before.weight + pool.weight;
      pool = {
        value: (before.value * before.weight + pool.value * pool.weight) / together,
        weight: together,
        size: before.size + pool.size,
      };
    }
    pools.push(pool);
  });
  const places = [];
  for (const pool of pools) {
    for (let k = 0; k < pool.size; k++) places.push(pool.value + offset[places.length]);
  }
  return places;
}
