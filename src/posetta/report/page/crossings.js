/** The order within layers: fewer crossings by barycentres and by swapping neighbours. */

const SWEEPS = 24;
/** Above this number of vertices, swapping neighbours would take longer than a reader waits. */
const LARGEST_FOR_SWAPS = 1200;

/**
 * Order the layers of a diagram in place so that few edges cross.
 * @param {import("./layers.js").Layered} graph
 * @returns {number} the number of crossings left
 */
export function reduceCrossings(graph) {
  const { layers, up, down } = graph;
  const place = new Array(graph.layerOf.length).fill(0);
  const number = (layer) => layer.forEach((vertex, k) => (place[vertex] = k));
  layers.forEach(number);
  let best = layers.map((layer) => layer.slice());
  let fewest = allCrossings(layers, down, place);
  for (let sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
    const downwards = sweep % 2 === 0;
    const order = downwards ? layers.slice(1) : layers.slice(0, -1).reverse();
    for (const layer of order) {
      byBarycentre(layer, downwards ? up : down, place, sweep % 4 > 1);
      number(layer);
    }
    if (place.length <= LARGEST_FOR_SWAPS) for (const layer of layers) swap(layer, up, down, place);
    const crossings = allCrossings(layers, down, place);
    if (crossings < fewest) {
      fewest = crossings;
      best = layers.map((layer) => layer.slice());
    }
  }
  best.forEach((layer, k) => layers[k].splice(0, layer.length, ...layer));
  return fewest;
}

/** Sort a layer by the mean place of its neighbours; `flip` decides how ties fall. */
function byBarycentre(layer, neighbours, place, flip) {
  const centre = new Map();
  for (const vertex of layer) {
    const near = neighbours[vertex];
    const sum = near.reduce((total, other) => total + place[other], 0);
    centre.set(vertex, near.length ? sum / near.length : place[vertex]);
  }
  const tie = flip ? -1 : 1;
  layer.sort((a, b) => centre.get(a) - centre.get(b) || tie * (place[a] - place[b]));
}

/** Swap neighbours as long as that takes crossings away. */
function swap(layer, up, down, place) {
  let better = true;
  for (let round = 0; better && round < 10; round++) {
    better = false;
    for (let k = 1; k < layer.length; k++) {
      const [a, b] = [layer[k - 1], layer[k]];
      let gain = 0;
      for (const side of [up, down]) {
        gain += crossingsOf(side[a], side[b], place) - crossingsOf(side[b], side[a], place);
      }
      if (gain <= 0) continue;
      [layer[k - 1], layer[k]] = [b, a];
      place[a] = k;
      place[b] = k - 1;
      better = true;
    }
  }
}

/** Crossings of the edges of a vertex with those of the one right of it. */
function crossingsOf(left, right, place) {
  let found = 0;
  for (const a of left) for (const b of right) if (place[a] > place[b]) found++;
  return found;
}

/** Crossings between all neighbouring layers: inversions, counted with a tree of partial sums. */
function allCrossings(layers, down, place) {
  let found = 0;
  for (let k = 0; k + 1 < layers.length; k++) {
    const size = layers[k + 1].length;
    const sums = new Array(size + 1).fill(0);
    let placed = 0;
    for (const vertex of layers[k]) {
      const ends = down[vertex].map((next) => place[next]);
      for (const end of ends) {
        let before = 0;
        for (let i = end + 1; i > 0; i -= i & -i) before += sums[i];
        found += placed - before;
      }
      for (const end of ends) {
        for (let i = end + 1; i <= size; i += i & -i) sums[i]++;
        placed++;
      }
    }
  }
  return found;
}
