// The element list: the visible, actionable elements of a page in reading order, one line each:
//   - button "cancel" 512 86
// role, quoted name, value and state words, then the point to click on the 0-1000 scale of the viewport. With `details`, a
// line also has the options of a select and the kind of a field, and lines in brackets say what the list does not show:
//   (more below: 2.3 screens)
// With owners, the name is followed by what the control belongs to, where others have the same role and name: of "Deck boots".
// It needs composed.js, controls.js, listeners.js, owners.js, survey.js and hits.js.

const MAX_LINES = 200;
const MAX_AREAS = 5;
const NESTING = /^(group|menu|menubar|tree|listbox|dialog)$/; // holds items of its own inside of an item: a submenu, a branch of a tree

// ---- candidates -----------------------------------------------------------------------------------------------------

// The elements with a role whose box is in view, in the order in which they are read. The parts of an atomic element have no
// lines of their own, wherever its own box is.
class Candidates {
  constructor(instruction, details, listeners = false) {
    this.details = details;
    this.listeners = listeners; // whether elements that may listen are collected
    this.scrollers = []; // in view, with more than they show
    this.frames = []; // of another origin
    this.note = instruction ? document.querySelector(instruction) : null;
    this.roles = new Map();
    this.insides = new Map(); // whether an element is in an atomic one
    this.inner = new Map(); // native controls that have lines of their own in an atomic element, by that element
    this.found = [];
    this.survey = new Survey((el, isInView) => this.visit(el, isInView));
  }

  visit(el, isInView) {
    if (this.details && isInView && scrollerIn(el)) this.scrollers.push(el);
    if (isInView && isOpaque(el)) this.frames.push(el);
    if (isInView || el.localName.includes('-')) suspect(el); // what a host without a size holds may be in view
    if (!isInView && !(LABELLED.test(el.tagName) && (el.tagName === 'TEXTAREA' || labelsOf(el).length))) return; // a styled control may be out of view, and its label in view
    const role = this.roleOf(el);
    const outer = role && this.isInside(el) ? this.outerOf(el) : null;
    if (role && (outer || !this.isInside(el))) this.found.push({ el, role, outer, index: this.found.length, onlyListens: listening.has(el) });
    if (outer) this.inner.set(outer, [...(this.inner.get(outer) || []), el]);
    if (this.listeners && isInView && (!role || listening.has(el)) && !this.isInside(el) && !this.isNote(el)) collectDrawn(el);
  }

  roleOf(el) {
    if (!this.roles.has(el)) this.roles.set(el, this.isNote(el) ? null : roleOf(el));
    return this.roles.get(el);
  }

  isNote(el) {
    return !!this.note && within(el, this.note);
  }

  // The link, or the element with an ARIA role, in which a native control does something else; null if it is a part of it, as one
  // without a name is: the file input that lies over an upload button.
  outerOf(el) {
    if (!this.details || !el.matches(OWN)) return null;
    let outer = parentOf(el);
    while (outer && !ATOMIC.has(this.roleOf(outer))) outer = parentOf(outer);
    const isOther = (inner) => textOf(inner) !== textOf(el) && nameOf(el, this.roleOf(el));
    return outer && outer.matches('a[href], [role]:not(button, select, summary)') && isOther(outer) ? outer : null;
  }

  isInside(el) {
    const chain = [];
    let node = parentOf(el), isInside = false;
    for (; node; node = parentOf(node)) {
      if (this.insides.has(node)) { isInside = this.insides.get(node); break; }
      chain.push(node);
    }
    for (const around of chain.reverse()) {
      if (this.details && NESTING.test(around.getAttribute('role') || '')) isInside = false;
      isInside ||= around.parentElement !== null && around !== document.body && ATOMIC.has(this.roleOf(around));
      this.insides.set(around, isInside);
    }
    return isInside;
  }
}

// Those that get lines if there are more than MAX_LINES: what only listens leaves its line to others first.
function withoutSurplus(found) {
  let surplus = found.length - MAX_LINES;
  return [...found].reverse().filter((item) => !item.onlyListens || surplus-- <= 0).reverse();
}

// The candidates that can be hit, with their places. Of more than MAX_LINES, those after the last line that fits are not
// tested.
function placed(candidates) {
  const { found, survey } = candidates, hits = new HitTests(survey);
  const measure = (item) => {
    item.box = partInView(item.el);
    item.middle = item.box ? (item.box[1] + item.box[3]) / 2 : -Infinity; // a label's control, whose place is not known yet
  };
  found.forEach(measure);
  const order = found.length > MAX_LINES ? withoutSurplus(found).sort((a, b) => a.middle - b.middle) : [...found];
  const items = [];
  let rowEnd = Infinity;
  const test = (item) => {
    if (items.length >= MAX_LINES && item.middle >= rowEnd) return;
    const place = item.outer ? hits.ownPlaceOf(item.el) : hits.placeOf(item.el, item.role, candidates.inner.get(item.el));
    if (!place) return;
    const box = item.box && !place.surface ? item.box : [...place.point, ...place.point];
    items.push({ ...item, place: place.point, surface: place.surface, top: box[1], bottom: box[3] });
    if (items.length === MAX_LINES) rowEnd = lastRowEnd(items);
  };
  const count = found.length;
  order.forEach(test);
  for (const item of found.slice(count)) { // met by hit tests
    measure(item);
    test(item);
  }
  return items.sort((a, b) => a.index - b.index);
}

const lastRowEnd = (items) => rowsOf(items).at(-1)[0].bottom - 1;

// Rows from top to bottom. A row holds the elements whose middle is above the lower edge of its first element.
function rowsOf(items) {
  const middle = (item) => (item.top + item.bottom) / 2;
  const rows = [];
  for (const item of [...items].sort((a, b) => middle(a) - middle(b))) {
    const row = rows.at(-1);
    if (row && middle(item) < row[0].bottom - 1) row.push(item);
    else rows.push([item]);
  }
  return rows;
}

const readingOrder = (items) => rowsOf(items).flatMap((row) => row.sort((a, b) => a.place[0] - b.place[0]));

const scaled = ([x, y]) => [[x, innerWidth], [y, innerHeight]]
  .map(([value, size]) => Math.min(1000, Math.max(0, Math.round((value / size) * 1000))));

const lineOf = ({ words, place }) => `- ${[...words, ...scaled(place)].join(' ')}`;

// ---- what is not in view ----------------------------------------------------------------------------------------------

// `above 0.5 screens, below 2.0 screens` of a scroller, or an empty text.
function further(scroller) {
  const height = scroller.clientHeight, above = scroller.scrollTop, below = scroller.scrollHeight - height - above;
  return [['above', above], ['below', below]].filter(([, pixels]) => pixels > 8)
    .map(([side, pixels]) => `more ${side}: ${Math.max(0.1, pixels / height).toFixed(1)} screens`);
}

// Whether people can scroll a document.
function scrollerOf(inner) {
  const scroller = inner.scrollingElement;
  return scroller && ![inner.documentElement, inner.body].some((el) => el && /hidden|clip/.test(getComputedStyle(el).overflowY)) ? scroller : null;
}

// The element that scrolls what an element shows, if that has more than it shows; the document in a frame scrolls, too.
function scrollerIn(el) {
  const inner = documentIn(el);
  if (inner) return scrollerOf(inner);
  if (el.scrollHeight - el.clientHeight <= 8 || el.clientHeight < 30 || el.tagName === 'TEXTAREA') return null;
  if (el === el.ownerDocument.body || el === el.ownerDocument.scrollingElement) return null;
  return /auto|scroll|overlay/.test(getComputedStyle(el).overflowY) ? el : null;
}

// The largest areas that scroll, as { place, more, size }; the document of a frame itself is one.
function areasOf(scrollers) {
  const seen = scrollers.map((el) => ({ el, box: partInView(el) })).filter(({ el, box }) => box && within(elementAt(...centreOf(box)), el));
  const areas = seen.map(({ el, box }) => ({ place: centreOf(box), more: further(scrollerIn(el)).join(', '), size: (box[2] - box[0]) * (box[3] - box[1]) }));
  if (visiblePart && scrollerOf(document)) areas.push({ place: centreOf(visiblePart), more: further(scrollerOf(document)).join(', '), size: Infinity });
  return areas.filter(({ more }) => more).sort((a, b) => b.size - a.size).slice(0, MAX_AREAS);
}

// ---- frames of another origin -----------------------------------------------------------------------------------------

let framesShown = []; // by the last list

// The part of each frame's viewport that can be seen, which is asked for in the frame.
const partsWanted = () => framesShown.map((frame) => {
  const view = viewInside(frame), [left, top, right, bottom] = view.clip;
  return [...fromOutermost(view, left, top), ...fromOutermost(view, right, bottom)];
});

const isShownFrame = (el) => {
  const view = isOpaque(el) && isVisible(el) ? viewInside(el) : null;
  return !!view && view.clip[2] - view.clip[0] >= 4 && view.clip[3] - view.clip[1] >= 4;
};

// What a frame answered, in the viewport of `document`, as far as nothing covers it here.
function fromFrame(part, frame) {
  const view = frame?.isConnected ? viewInside(frame) : null;
  if (!part || !view) return { items: [], areas: [] };
  const placed = (item) => ({ ...item, place: toOutermost(view, ...item.place) });
  const isHit = ({ place }) => within(elementAt(...place), frame);
  const items = part.items.map(placed).filter(isHit).map((item) => ({
    ...item, top: view.top + item.top * view.scaleY, bottom: view.top + item.bottom * view.scaleY }));
  return { items, areas: part.areas.map(placed).filter(isHit) };
}

// ---- the list -------------------------------------------------------------------------------------------------------

// What the document shows: items with words and places in reading order, the number of candidates, and areas. `parts` has
// what the frames in `framesShown` answered.
function listing({ instruction = null, details = false, parts = null, owners = false, listeners = false }) {
  const candidates = new Candidates(instruction, details, listeners), focus = document.hasFocus() || !visiblePart ? innermostFocus() : null;
  forgetDrawn();
  candidates.survey.readAll(document.body || document.documentElement);
  const own = placed(candidates), foreign = (parts || []).map((part, index) => fromFrame(part, framesShown[index]));
  if (!parts) framesShown = candidates.frames.filter(isShownFrame);
  const items = readingOrder([...own, ...foreign.flatMap((part) => part.items)]).slice(0, MAX_LINES).map((item) => ({
    words: item.words || wordsOf(item.el, item.role, focus, { details, surface: item.surface, owner: owners && ownerOf(item.el) }).filter(Boolean),
    place: item.place, top: item.top, bottom: item.bottom }));
  const areas = details ? [...areasOf(candidates.scrollers), ...foreign.flatMap((part) => part.areas)] : [];
  return { items, areas, count: candidates.found.length, isCrowded: candidates.survey.isCrowded };
}

// The list of a frame for the document around it, which sees a part of the frame.
function framePart({ clip, details, parts, owners, listeners }) {
  visiblePart = clip;
  const root = document.body || document.documentElement;
  const { items, areas } = root ? listing({ details, parts, owners, listeners }) : { items: [], areas: [] };
  return { items, areas: areas.map((area) => ({ ...area, size: Math.min(area.size, 1e9) })), frames: root && !parts ? partsWanted() : [] };
}

function elementList({ instruction, details, parts, owners, listeners }) {
  if (!(document.body || document.documentElement)) return ''; // a window that was just opened
  const { items, areas, count, isCrowded } = listing({ instruction, details, parts, owners, listeners });
  const lines = items.map(lineOf);
  if (!details) return lines.join('\n');
  if (items.length === MAX_LINES && count > MAX_LINES) lines.push(`(the first ${MAX_LINES} of about ${count} elements in view are listed)`);
  else if (isCrowded) lines.push(`(more than ${CROWDED} elements are in view; some of them were not looked at)`);
  const page = scrollerOf(document);
  for (const more of page ? further(page) : []) {
    if (more.startsWith('more above')) lines.unshift(`(${more})`);
    else lines.push(`(${more})`);
  }
  return [...lines, ...areas.slice(0, MAX_AREAS).map(({ place, more }) => `(in the area at ${scaled(place).join(' ')}, ${more})`)].join('\n');
}
