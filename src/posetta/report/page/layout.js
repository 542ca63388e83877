/** A layered layout: layers, crossings, positions, and the paths of the edges. */

import { layered } from "./layers.js";
import { reduceCrossings } from "./crossings.js";
import { positions } from "./positions.js";

/** What edges need between two layers to turn, and items beside each other. */
const BETWEEN_LAYERS = { down: 44, right: 60 };
const FOR_EACH_EDGE = { down: 0.4, right: 0.6 };
const MOST_FOR_EDGES = { down: 90, right: 180 };
const BETWEEN_ITEMS = { down: 18, right: 10 };
const DUMMY = 4;

/**
 * Lay out a diagram.
 * @param {{width: number, height: number}[]} sizes of the items
 * @param {number[][]} edges covers [earlier, later]
 * @param {"down"|"right"} direction in which time runs
 * @returns {{width: number, height: number, crossings: number,
 *   items: {x: number, y: number, layer: number}[], edges: number[][][]}}
 *   centres of the items, and for each edge its points [x, y] from item to item
 */
export function layout(sizes, edges, direction) {
  const across = direction === "down" ? "width" : "height";
  const along = direction === "down" ? "height" : "width";
  const graph = layered(sizes.length, edges);
  const crossings = reduceCrossings(graph);
  const extent = graph.layerOf.map((_, v) => (v < sizes.length ? sizes[v][across] : DUMMY));
  const centre = positions(graph, extent, BETWEEN_ITEMS[direction]);
  const least = centre.length ? Math.min(...centre.map((c, v) => c - extent[v] / 2)) : 0;
  const most = centre.length ? Math.max(...centre.map((c, v) => c + extent[v] / 2)) : 0;
  const bands = [];
  let end = 0;
  for (const layer of graph.layers) {
    const inside = layer.filter((v) => v < sizes.length).map((v) => sizes[v][along]);
    const entering = layer.reduce((sum, v) => sum + graph.up[v].length, 0);
    const room = Math.min(MOST_FOR_EDGES[direction], entering * FOR_EACH_EDGE[direction]);
    const start = bands.length ? end + BETWEEN_LAYERS[direction] + room : 0;
    end = start + Math.max(0, ...inside);
    bands.push([start, end]);
  }
  const point = (c, a) => (direction === "down" ? [c - least, a] : [a, c - least]);
  const items = sizes.map((size, v) => {
    const [start] = bands[graph.layerOf[v]];
    const [x, y] = point(centre[v], start + size[along] / 2);
    return { x, y, layer: graph.layerOf[v] };
  });
  const paths = graph.chains.map((chain) => {
    const points = [];
    chain.forEach((v, k) => {
      const [start, stop] = bands[graph.layerOf[v]];
      const leaves = v < sizes.length ? start + sizes[v][along] : stop;
      if (k > 0) points.push(point(centre[v], start));
      if (k === chain.length - 1) return;
      points.push(point(centre[v], leaves));
      // An item shorter than its layer is left straight, so that no edge bends below a neighbour.
      if (leaves < stop) points.push(point(centre[v], stop));
    });
    return points;
  });
  const [width, height] = direction === "down" ? [most - least, end] : [end, most - least];
  return { width, height, crossings, items, edges: paths };
}

/**
 * The path of an edge: straight inside a layer, a smooth turn between layers.
 * @param {number[][]} points as `layout` gives them
 * @param {"down"|"right"} direction
 * @returns {string} for the attribute d
 */
export function curve(points, direction) {
  const down = direction === "down";
  let d = `M${points[0].map(rounded).join(",")}`;
  for (let k = 1; k < points.length; k++) {
    const [[x0, y0], [x1, y1]] = [points[k - 1], points[k]];
    if (down ? x0 === x1 : y0 === y1) {
      d += `L${rounded(x1)},${rounded(y1)}`;
      continue;
    }
    const [xm, ym] = [rounded((x0 + x1) / 2), rounded((y0 + y1) / 2)];
    d += down
      ? `C${rounded(x0)},${ym} ${rounded(x1)},${ym} ${rounded(x1)},${rounded(y1)}`
      : `C${xm},${rounded(y0)} ${xm},${rounded(y1)} ${rounded(x1)},${rounded(y1)}`;
  }
  return d;
}

function rounded(value) {
  return Math.round(value * 10) / 10;
}
