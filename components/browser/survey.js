// Reads the elements that are in view, without reading all of a large page. A page of up to LARGE elements is read whole and
// in the order of the tree. On a larger page, long lists of children are read around their part in view, and subtrees whose
// box is out of view are left. If CROWDED elements were read, all others are left, as in a drawing of many points. What was
// left is read in the time that remains, and where a hit test meets it, because content may be drawn far from its parent's
// box. It needs composed.js, boxless.js and hits.js.

const LARGE = 10000; // elements
const CROWDED = 12000; // elements
const LONG = 256; // children
const STRAY = 48; // children out of view one after the other, behind which the rest of a long list is left
const REST_MS = 50;

class Survey {
  // `visit(el, inView)` is called once for each element that is read.
  constructor(visit) {
    this.visit = visit;
    this.read = new Set();
    this.left = []; // ranges of children
    this.isCrowded = false; // whether elements were left that may be in view
  }

  get isLarge() {
    return this.read.size > LARGE;
  }

  readAll(root) {
    this.readRanges([rangeOf(childrenOf(root))], CROWDED);
    const end = performance.now() + REST_MS;
    while (this.left.length && performance.now() < end) this.readRanges([this.firstLeft()]);
  }

  // Read what a hit test found, unless it was read: its outermost ancestor in view that was not read.
  readMet(el) {
    let top = null;
    for (let node = el; node && !this.read.has(node); node = parentOf(node)) {
      if (node === node.ownerDocument.body || node === node.ownerDocument.documentElement) break;
      if (placeIn(node)?.isInView) top = node;
    }
    if (top) this.readRanges([rangeOf([top])]);
  }

  // A piece of what was left. The last was found last: overlays are mostly at the end of a document.
  firstLeft() {
    const range = this.left.pop();
    if (range.end - range.next <= LONG) return range;
    this.left.push({ ...range, end: range.end - LONG });
    return { ...range, next: range.end - LONG, isNear: true };
  }

  // The ranges are a stack: pages may be nested deeper than JavaScript's own.
  readRanges(ranges, most = Infinity) {
    while (ranges.length) {
      if (this.read.size >= most) {
        this.isCrowded = true;
        this.left.push(...ranges.reverse()); // what follows the crowd is read before the rest of it
        return;
      }
      const range = ranges.at(-1);
      if (this.isLarge && !range.isNear && range.end - range.next > LONG) this.left.push(...narrow(range));
      if (range.next >= range.end) ranges.pop();
      else {
        const inner = this.enter(range.children[range.next++]);
        if (inner) ranges.push(inner);
      }
    }
  }

  enter(el) {
    if (this.read.has(el)) return null;
    this.read.add(el);
    const box = placeIn(el), isInView = !!box && box.isInView || lacksArea(el) && !!partInView(el);
    this.visit(el, isInView);
    const children = childrenOf(el);
    if (!children.length || isFrame(el) && !isVisible(el)) return null; // hit tests do not tell that a frame is transparent
    if (this.isLarge && !isInView && holdsItsContent(el, box)) {
      this.left.push(rangeOf(children));
      return null;
    }
    return rangeOf(children);
  }
}

const isVisible = (el) => drawnAs(el).some((node) => holderOf(node).checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }));

const rangeOf = (children) => ({ children, next: 0, end: children.length, isNear: false });

// The bounding box of an element in the outermost viewport; null if it has none.
function placeIn(el) {
  const view = viewOf(el.ownerDocument), rect = view && boundsOf(el);
  if (!rect || !rect.width && !rect.height) return null;
  const [left, top] = toOutermost(view, rect.left, rect.top), [right, bottom] = toOutermost(view, rect.right, rect.bottom);
  const clip = view.clip;
  return { left, top, right, bottom, view, isInView: right > clip[0] && bottom > clip[1] && left < clip[2] && top < clip[3] };
}

// Whether the content of an element out of view is out of view too, as far as its boxes tell. An element without a height or
// a width often holds positioned content.
function holdsItsContent(el, box) {
  if (!box || box.right <= box.left || box.bottom <= box.top) return false;
  const { clip, scaleX, scaleY } = box.view;
  if (box.bottom <= clip[1] && box.top + el.scrollHeight * scaleY > clip[1]) return false;
  return !(box.right <= clip[0] && box.left + el.scrollWidth * scaleX > clip[0]);
}

// Narrow a range to its part around the view, and return the ranges before and after it. The children of a list are in order
// along one axis, except for those that are positioned.
function narrow(range) {
  const { children, next, end } = range;
  range.isNear = true;
  const [first, last] = [withBox(children, next, end), withBox(children, end - 1, next - 1)];
  const isInRow = first && last && last.top < first.bottom && last.bottom > first.top;
  const side = (box) => {
    const { clip } = box.view, [from, to] = isInRow ? [clip[0], clip[2]] : [clip[1], clip[3]];
    return (isInRow ? box.right : box.bottom) <= from ? -1 : (isInRow ? box.left : box.top) >= to ? 1 : 0;
  };
  let [low, high] = [next, end];
  while (first && low < high) { // the first child that is not before the view
    const middle = (low + high) >> 1, box = withBox(children, middle, Math.min(high, middle + 16));
    if (box && side(box) < 0) low = middle + 1;
    else high = middle;
  }
  const isStray = (index) => {
    const box = withBox(children, index, index + 1);
    return !box || side(box) !== 0;
  };
  const edge = (step) => {
    const furthest = step < 0 ? Math.max(next - 1, low - CROWDED + LARGE) : Math.min(end, low + CROWDED - LARGE);
    let index = low;
    for (let strays = 0; strays < STRAY && index !== furthest; index += step) strays = isStray(index) ? strays + 1 : 0;
    return index;
  };
  range.next = Math.max(next, edge(-1) + 1);
  range.end = Math.min(end, edge(1));
  return [{ ...range, next, end: range.next, isNear: false }, { ...range, next: range.end, end, isNear: false }]
    .filter((part) => part.next < part.end);
}

// The box of the first child that has one, from one index to another, which is not included.
function withBox(children, from, to) {
  const step = from < to ? 1 : -1;
  for (let index = from; index !== to; index += step) {
    const box = placeIn(children[index]);
    if (box) return box;
  }
  return null;
}
