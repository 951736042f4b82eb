// The composed page: all that a person sees as one page, through shadow roots, slots and frames of the same origin.
// Points and rectangles are in CSS pixels of the viewport of `document`, the outermost document that this script can read.
// Frames of another origin are opaque: `elementAt` ends at them, and `isOpaque` tells them. It needs image_maps.js,
// boxless.js and closed_roots.js, which knows the closed roots.

const isFrame = (el) => /^(IFRAME|FRAME|OBJECT|EMBED)$/.test(el.tagName);

// The document inside of a frame element; null for other elements and for frames of another origin.
function documentIn(el) {
  const inner = isFrame(el) ? el.contentDocument : null;
  return inner?.documentElement ? inner : null;
}

// Whether an element is a frame whose document cannot be read from here. An <embed> tells no script its document.
const isOpaque = (el) => isFrame(el) && (el.tagName === 'EMBED' || !el.contentDocument && !!el.contentWindow);

// The frame element around a document; null for `document` itself.
const frameAround = (inner) => (inner === document ? null : inner.defaultView?.frameElement ?? null);

// `form.children` may be a field of that name.
const ownChildren = Object.getOwnPropertyDescriptor(Element.prototype, 'children').get;

// The child elements in the flat tree: a host has those of its shadow root, a slot those assigned to it, a frame the body, an
// image the areas of its map.
function childrenOf(el) {
  const shadow = shadowOf(el);
  if (shadow) return shadow.children;
  if (el.tagName === 'SLOT' && el.assignedNodes().length) return el.assignedElements();
  if (el.tagName === 'IMG' && el.useMap) return areasIn(el);
  const inner = documentIn(el);
  return inner ? [inner.body || inner.documentElement] : ownChildren.call(el);
}

// The parent in the flat tree; null for the root of `document` and for a detached element.
function parentOf(el) {
  const parent = slotOf(el) || el.parentElement;
  if (parent) return parent;
  const root = el.parentNode; // a shadow root, a document, or null
  return root?.host || (root?.nodeType === Node.DOCUMENT_NODE ? frameAround(root) : null);
}

function within(el, ancestor) {
  for (let node = el; node; node = parentOf(node)) if (node === ancestor) return true;
  return false;
}

// All roots below a root, itself included: documents and shadow roots, each of which needs observers of its own.
function* rootsIn(root = document) {
  yield root;
  for (const el of root.querySelectorAll('*')) {
    const inner = shadowOf(el) || documentIn(el);
    if (inner) yield* rootsIn(inner);
  }
}

// The frames of another origin in these roots.
const opaqueFrames = (roots) => [...roots].flatMap((root) => [...root.querySelectorAll('iframe, frame, object, embed')].filter(isOpaque));

// ---- places ---------------------------------------------------------------------------------------------------------

let visiblePart = null; // of `document`, as [left, top, right, bottom], where that is in a frame itself
let views = new Map(); // of documents; layout does not change while a script of ours runs without a break

// How the viewport of a document appears: the place of its origin, its scale, and the part that can be seen as [left, top,
// right, bottom]. Null if it is not drawn, or is turned, so that rectangles do not describe it.
function viewOf(inner) {
  if (inner === document) return { left: 0, top: 0, scaleX: 1, scaleY: 1, clip: visiblePart || [0, 0, innerWidth, innerHeight] };
  if (!views.size) queueMicrotask(() => { views = new Map(); });
  if (!views.has(inner)) {
    const frame = frameAround(inner);
    views.set(inner, frame && viewInside(frame));
  }
  return views.get(inner);
}

// `viewOf` the document in a frame element, of any origin.
function viewInside(frame) {
  const outer = viewOf(frame.ownerDocument);
  const box = frame.getBoundingClientRect(), style = getComputedStyle(frame);
  if (!outer || !box.width || !box.height || !frame.offsetWidth || isTurned(frame)) return null;
  const [zoomX, zoomY] = [box.width / frame.offsetWidth, box.height / frame.offsetHeight]; // by transforms and CSS zoom
  const edge = (side) => parseFloat(style[`border${side}Width`]) + parseFloat(style[`padding${side}`]);
  const [left, top] = toOutermost(outer, box.left + edge('Left') * zoomX, box.top + edge('Top') * zoomY);
  const [right, bottom] = toOutermost(outer, box.right - edge('Right') * zoomX, box.bottom - edge('Bottom') * zoomY);
  const [from, to] = [outer.clip.slice(0, 2), outer.clip.slice(2)];
  const clip = [Math.max(left, from[0]), Math.max(top, from[1]), Math.min(right, to[0]), Math.min(bottom, to[1])];
  return { left, top, scaleX: outer.scaleX * zoomX, scaleY: outer.scaleY * zoomY, clip };
}

// Whether an element or something around it is rotated, skewed, mirrored or in perspective.
function isTurned(el) {
  for (let node = el; node; node = slotOf(node) || node.parentElement || node.parentNode?.host) {
    const { transform, rotate } = getComputedStyle(node);
    if (rotate && rotate !== 'none') return true;
    if (!transform || transform === 'none') continue;
    const { is2D, a, b, c, d } = new DOMMatrixReadOnly(transform);
    if (!is2D || b || c || a <= 0 || d <= 0) return true;
  }
  return false;
}

// A point of a document's viewport in that of `document`, and back.
const toOutermost = (view, x, y) => [view.left + x * view.scaleX, view.top + y * view.scaleY];
const fromOutermost = (view, x, y) => [(x - view.left) / view.scaleX, (y - view.top) / view.scaleY];

// The client rectangles of an element, or of the content that stands for it, as [left, top, right, bottom], cut to what can be seen of its document.
function* rectsOf(el) {
  const view = viewOf(el.ownerDocument);
  if (!view) return;
  const [left, top, right, bottom] = view.clip;
  for (const rect of isArea(el) ? areaRects(el) : lacksArea(el) ? contentRects(el) : el.getClientRects()) {
    const [from, to] = [toOutermost(view, rect.left, rect.top), toOutermost(view, rect.right, rect.bottom)];
    yield [Math.max(from[0], left), Math.max(from[1], top), Math.min(to[0], right), Math.min(to[1], bottom)];
  }
}

// The innermost element at a point. In a frame where no element is, it is the root of the frame's document.
function elementAt(x, y) {
  let el = document.elementFromPoint(x, y);
  let [innerX, innerY] = [x, y];
  while (el) {
    const inner = documentIn(el);
    if (inner) {
      const view = viewOf(inner);
      if (!view) break;
      [innerX, innerY] = fromOutermost(view, x, y);
    }
    const found = (inner || shadowOf(el))?.elementFromPoint(innerX, innerY);
    if (!found || found === el) break;
    el = found;
  }
  return el;
}

// ---- focus ----------------------------------------------------------------------------------------------------------

// The focused element of `document`, in its shadow roots; a frame element if the focus is in a frame.
function deepFocus() {
  return focusIn(document);
}

// The focused element, also in the frames whose document can be read.
function innermostFocus() {
  let el = deepFocus();
  for (let inner = el && documentIn(el); inner?.activeElement; inner = documentIn(el)) el = focusIn(inner);
  return el;
}

function focusIn(inner) {
  let el = inner.activeElement;
  while (el && shadowOf(el)?.activeElement) el = shadowOf(el).activeElement;
  return el;
}
