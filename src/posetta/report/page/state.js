/** What the reader looks at: a threshold, the order it gives, an item or a pair in focus. */

import { decode } from "./decode.js";

/**
 * @param {Object} data as `posetta.report.content` gives it
 * @returns {Object} with `order`, `focus`, ways to change them, and `on("order"|"focus", listener)`
 */
export function makeState(data) {
  const listeners = { order: [], focus: [] };
  const tell = (kind) => listeners[kind].forEach((listener) => listener(state));
  const state = {
    data,
    n: data.items.length,
    threshold: data.threshold,
    order: decode(data.precedence, data.threshold),
    /** null, { item } or { first, second } */
    focus: null,
    on(kind, listener) {
      listeners[kind].push(listener);
    },
    setThreshold(threshold) {
      if (threshold === state.threshold) return;
      state.threshold = threshold;
      state.order = decode(data.precedence, threshold);
      tell("order");
      tell("focus");
    },
    focusItem(item) {
      state.focus = { item };
      tell("focus");
    },
    focusPair(first, second) {
      state.focus = { first, second };
      tell("focus");
    },
    clear() {
      state.focus = null;
      tell("focus");
    },
    /** The text shown for an item. */
    name(item) {
      return data.names[item];
    },
  };
  return state;
}
