// Where a scroll turns the wheel (`aim`), and whether anything took it (`turned`). It needs composed.js, page_changes.js and
// waiting.js.
//
// On a page that is not live (see `mark`), amounts are parts of the viewport, and a call without a point scrolls only the
// page or what has the focus: small models were trained on that.

const rootScroller = (el) => el.ownerDocument.scrollingElement || el.ownerDocument.documentElement;

// Whether an element can scroll, as far as its style says.
function scrolls(el, vertical) {
  const overflow = (node) => getComputedStyle(node)[vertical ? 'overflowY' : 'overflowX'];
  if (el !== rootScroller(el)) return /auto|scroll|overlay/.test(overflow(el));
  const { documentElement, body } = el.ownerDocument; // the viewport has the root's overflow, else the body's
  const own = overflow(documentElement);
  return !/hidden|clip/.test(own === 'visible' && body ? overflow(body) : own);
}

function hasRoom(el, vertical, sign) {
  if (!scrolls(el, vertical)) return false;
  const [offset, rest] = vertical ? [el.scrollTop, el.scrollHeight - el.clientHeight] : [el.scrollLeft, el.scrollWidth - el.clientWidth];
  const first = !vertical && getComputedStyle(el).direction === 'rtl' ? -rest : 0;
  return sign > 0 ? offset < first + rest - 1 : offset > first;
}

// The elements around a point that scroll, innermost first.
function scrollersAt(point) {
  const found = [];
  for (let el = elementAt(...point); el; el = parentOf(el)) {
    if (el === rootScroller(el) || scrolls(el, true) || scrolls(el, false)) found.push(el);
  }
  if (!found.includes(rootScroller(document.documentElement))) found.push(rootScroller(document.documentElement));
  return found;
}

const SCROLL_REST_MS = 60;
const SCROLL_LIMIT_MS = 500;

async function aim({ at, direction, amount }) {
  const state = memory(), end = performance.now() + SCROLL_LIMIT_MS;
  // a smooth scroll that still runs, such as that of a key, would swallow the wheel
  while (state.scrolled > performance.now() - SCROLL_REST_MS && performance.now() < end) await frame();
  const vertical = direction === 'up' || direction === 'down', sign = direction === 'up' || direction === 'left' ? -1 : 1;
  const can = (el) => hasRoom(el, vertical, sign);
  const found = at || restingPoint(can, !state.before);
  const point = found || [0, 0];
  const el = elementAt(...point), chain = scrollersAt(point), page = rootScroller(document.documentElement);
  const scroller = !state.before ? page : el && isOpaque(el) ? el : chain.find(can) || page;
  const size = scroller === page ? [innerWidth, innerHeight] : [scroller.clientWidth, scroller.clientHeight];
  const by = found ? Math.round(sign * amount * size[vertical ? 1 : 0]) : 0;
  const number = el?.localName === 'input' && el.type === 'number' && el === deepFocus() ? el : null; // the wheel steps it
  state.wheel = { event: null, opaque: !!el && isOpaque(el), number, value: number?.value, scrolls: state.scrolls, done: new AbortController(),
    places: chain.map((item) => [item, item.scrollLeft, item.scrollTop]) };
  const { wheel } = state;
  (el || page).ownerDocument.defaultView.addEventListener('wheel', (event) => { wheel.event = event; },
    { capture: true, passive: true, signal: wheel.done.signal });
  return { x: point[0], y: point[1], dx: vertical ? 0 : by, dy: vertical ? by : 0 };
}

// The point at which the wheel turns if the call names none: in the scroller that has the focus, else where the page itself
// scrolls, else the centre (with `pageOnly`, where nothing could scroll, if there is such a point).
function restingPoint(can, pageOnly) {
  const page = rootScroller(document.documentElement), whole = [0, 0, innerWidth, innerHeight];
  const takes = (point, scroller) => scrollersAt(point).find(can) === scroller;
  for (let el = innermostFocus(); el && el !== page; el = parentOf(el)) {
    if (!can(el)) continue;
    const box = el === rootScroller(el) ? viewOf(el.ownerDocument)?.clip : [...rectsOf(el)][0];
    const point = box && pointsIn(box).find((candidate) => takes(candidate, el));
    if (point) return point;
  }
  const places = pointsIn(whole);
  if (can(page)) return places.find((candidate) => takes(candidate, page)) || places[0];
  return pageOnly ? places.find((candidate) => takes(candidate, undefined)) : places[0];
}

// The centre of a box, and then a grid over it.
function pointsIn([left, top, right, bottom]) {
  const points = [[(left + right) / 2, (top + bottom) / 2]];
  for (let row = 1; row <= 9; row += 2) {
    for (let column = 1; column <= 9; column += 2) points.push([left + (right - left) * column / 10, top + (bottom - top) * row / 10]);
  }
  return points;
}

// What the wheel did: moved (something scrolled), taken (a listener of the page kept it), opaque (it went into a frame that
// cannot be read), stepped (the values of a number field before and after). Null if no wheel was turned since the mark.
function turned(state) {
  if (!state.wheel) return null;
  const { event, opaque, number, value, places, scrolls: before, done } = state.wheel;
  done.abort();
  state.wheel = null;
  const moved = places.some(([el, left, top]) => Math.abs(el.scrollLeft - left) + Math.abs(el.scrollTop - top) >= 1);
  return { moved: moved || state.scrolls !== before, taken: event?.defaultPrevented === true, opaque,
    stepped: number && number.value !== value ? [value, number.value] : null };
}
