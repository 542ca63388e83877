/** Elements and numbers. Text enters as text nodes only, so that no label is ever markup. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Make an element. Attributes whose name starts with "on" are listeners; null and false are left
 * out; children are elements or text.
 * @param {string} tag
 * @param {Object<string, *>} [attributes]
 * @param {...(Node|string|number|null)} children
 * @returns {HTMLElement}
 */
export function html(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}

/** Replace all children. */
export function refill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null));
  return element;
}

/** Shorten text to a number of characters, never cutting one in half. */
export function shortened(text, most) {
  const characters = Array.from(text);
  return characters.length <= most ? text : characters.slice(0, most - 1).join("") + "…";
}

/** Shorten text further until it is no wider than so many pixels of a canvas. */
export function shortenedTo(width, text, context) {
  let most = Array.from(text).length;
  let shown = text;
  while (most > 1 && context.measureText(shown).width > width) shown = shortened(text, --most);
  return shown;
}

/** A label, isolated so that right-to-left text does not reorder what stands around it. */
export function labelled(text, most = 60) {
  return html("bdi", { title: text.length > most ? text : null }, shortened(text, most));
}

/** A probability with two decimals that never rounds to certainty. */
export function probability(p) {
  if (p > 0 && p < 0.005) return "<0.01";
  if (p < 1 && p > 0.995) return ">0.99";
  return p.toFixed(2);
}

/** A number with three significant digits, or a dash. */
export function figure(value) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  return size !== 0 && size < 0.001 ? value.toExponential(1) : String(Number(value.toPrecision(3)));
}

/** "1 pair", "2 pairs". */
export function counted(n, noun) {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

/** The class of an edge or bar for a probability: five steps, by colour and by width. */
export function step(p) {
  if (p >= 0.99) return 5;
  if (p >= 0.9) return 4;
  if (p >= 0.75) return 3;
  return p >= 0.6 ? 2 : 1;
}
