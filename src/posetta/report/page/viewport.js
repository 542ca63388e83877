/** Zoom and pan. The diagram scrolls in its box like a page, so touch, wheel and keys just work. */

const LEAST = 0.15;
const MOST = 2.5;
/** The box never grows beyond what one looks at in one go. */
const tallest = () => Math.min(820, window.innerHeight * 0.78);
/** Below this scale labels are too small to read: rather scroll than shrink on opening. */
const READABLE = 0.66;

/**
 * @param {HTMLElement} box scrolls
 * @param {() => {width: number, height: number, start: {x: number, y: number}}} natural size of
 *   the drawing at scale 1, and where to begin
 * @param {(scale: number) => void} apply sets the drawing's size
 */
export function viewport(box, natural, apply) {
  let scale = 1;
  let grown = 0;
  /** The scale at which all of the drawing is seen. */
  const whole = () => {
    const { width, height } = natural();
    return Math.min(box.clientWidth / width, tallest() / height);
  };
  const set = (wanted, x = box.clientWidth / 2, y = box.clientHeight / 2) => {
    const next = Math.min(MOST, Math.max(Math.min(LEAST, whole()), wanted));
    const [left, top] = [(box.scrollLeft + x) / scale, (box.scrollTop + y) / scale];
    scale = next;
    apply(scale);
    box.scrollLeft = left * scale - x;
    box.scrollTop = top * scale - y;
  };
  box.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const corner = box.getBoundingClientRect();
    const factor = Math.exp(-event.deltaY / 300);
    set(scale * factor, event.clientX - corner.left, event.clientY - corner.top);
  }, { passive: false });
  box.addEventListener("keydown", (event) => {
    if (event.key === "+" || event.key === "=") set(scale * 1.25);
    else if (event.key === "-") set(scale / 1.25);
    else if (event.key === "0") view.fit();
  });
  drag(box);
  pinch(box, () => scale, set);
  const view = {
    zoom: (factor) => set(scale * factor),
    /** The whole drawing. */
    fit() {
      set(Math.min(1.2, whole()));
    },
    /** As much as stays readable, from the start of the order; say whether that is all of it. */
    open() {
      const first = Math.min(1.1, Math.max(READABLE, whole()));
      // It may grow, but not jump back, while the threshold slides.
      grown = Math.max(grown, Math.min(tallest(), natural().height * first));
      box.style.height = `${grown}px`;
      set(first);
      const { x, y } = natural().start;
      box.scrollLeft = x * scale - box.clientWidth / 2;
      box.scrollTop = y * scale - box.clientHeight / 2;
      return whole() >= first;
    },
    /** Scroll so that a point of the drawing is in the middle. */
    show(x, y) {
      if (scale < READABLE) set(READABLE);
      box.scrollTo({ left: x * scale - box.clientWidth / 2, top: y * scale - box.clientHeight / 2,
        behavior: "smooth" });
    },
  };
  return view;
}

/** Drag with the mouse; a finger scrolls by itself. */
function drag(box) {
  let from = null;
  let moved = false;
  box.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    from = { x: event.clientX + box.scrollLeft, y: event.clientY + box.scrollTop };
    moved = false;
  });
  // The end of a drag is not a choice of the item below the pointer.
  box.addEventListener("click", (event) => {
    if (moved) event.stopPropagation();
    moved = false;
  }, { capture: true });
  window.addEventListener("pointermove", (event) => {
    if (event.buttons === 0) from = null; // the button was let go outside of the window
    if (from === null) return;
    const [x, y] = [from.x - box.scrollLeft, from.y - box.scrollTop];
    if (Math.hypot(x - event.clientX, y - event.clientY) > 4) moved = true;
    box.scrollLeft = from.x - event.clientX;
    box.scrollTop = from.y - event.clientY;
  });
  window.addEventListener("pointerup", () => (from = null));
}

/** Two fingers zoom. */
function pinch(box, scale, set) {
  let start = null;
  const apart = (touches) =>
    Math.hypot(touches[0].clientX - touches[1].clientX, touches[0].clientY - touches[1].clientY);
  box.addEventListener("touchstart", (event) => {
    start = event.touches.length === 2 ? { apart: apart(event.touches), scale: scale() } : null;
  }, { passive: true });
  box.addEventListener("touchmove", (event) => {
    if (start === null || event.touches.length !== 2) return;
    event.preventDefault();
    const corner = box.getBoundingClientRect();
    const [a, b] = event.touches;
    set(start.scale * apart(event.touches) / start.apart,
      (a.clientX + b.clientX) / 2 - corner.left, (a.clientY + b.clientY) / 2 - corner.top);
  }, { passive: false });
}
