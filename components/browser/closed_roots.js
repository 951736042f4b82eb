// Closed shadow roots, which no script can get from their hosts. DevTools can. Elements that may be hosts are collected while
// the page is read, closed_roots.py asks about them once, and `adopt` remembers the roots, which then read like open ones.

const MAX_ASKED = 32; // elements for one answer
const ENOUGH = 3; // custom elements of one name that had no such root, after which the others are not asked about
const HOSTS = /^(article|aside|blockquote|body|div|footer|h[1-6]|header|main|nav|p|section|span)$/;

const closedRoots = new WeakMap(); // by host
const conditionsAsked = new WeakMap(); // of elements when they were asked about
const namesAsked = new Map();
let hasClosedRoots = false;
let suspects = new Set();

const shadowOf = (el) => el.shadowRoot || hasClosedRoots && closedRoots.get(el) || null;

// The slot that shows an element. In a closed root, the element itself does not know it.
function slotOf(el) {
  if (el.assignedSlot || !hasClosedRoots) return el.assignedSlot;
  const slots = el.parentElement && closedRoots.get(el.parentElement)?.querySelectorAll('slot');
  return slots ? [...slots].find((slot) => slot.assignedNodes().includes(el)) : null;
}

// Collect an element if it may be a host. A target is one that a hit test found.
function suspect(el, isTarget = false) {
  if (suspects.size >= MAX_ASKED || shadowOf(el) || el.namespaceURI !== 'http://www.w3.org/1999/xhtml') return;
  const isCustom = el.localName.includes('-'), before = conditionsAsked.get(el);
  if (isCustom ? before === undefined && namesAsked.get(el.localName) >= ENOUGH : !HOSTS.test(el.localName)) return;
  if (before === conditionOf(el) || !isCustom && !(isTarget && !el.firstChild) && !isDrawnFromInside(el)) return;
  suspects.add(el);
}

// It changes when a root was attached in between: an element is defined, or gets a size.
const conditionOf = (el) => `${el.matches(':defined')} ${el.offsetWidth} ${el.offsetHeight}`;

// Whether an element without a size of its own has no content that would give it one, or has children that are not drawn.
function isDrawnFromInside(el) {
  if (el.firstElementChild) return getComputedStyle(el.firstElementChild).display === ''; // it is in no slot
  if (el.firstChild || el.offsetHeight < 8 || `${el.computedStyleMap().get('height')}` !== 'auto') return false;
  const style = getComputedStyle(el), own = el.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
  const isGenerated = ['::before', '::after'].some((part) => !/^(none|normal)$/.test(getComputedStyle(el, part).content));
  return own >= 8 && own > (parseFloat(style.minHeight) || 0) && !isGenerated && !/absolute|fixed/.test(style.position);
}

// The elements to ask about.
function asked() {
  const all = [...suspects];
  suspects = new Set();
  for (const el of all) {
    conditionsAsked.set(el, conditionOf(el));
    if (el.matches(':defined')) namesAsked.set(el.localName, (namesAsked.get(el.localName) || 0) + 1);
  }
  return all;
}

// Remember closed roots. Their changes are watched from then on.
function adopt(...roots) {
  for (const root of roots) {
    closedRoots.set(root.host, root);
    namesAsked.set(root.host.localName, -Infinity);
  }
  hasClosedRoots = true;
  watchRoots(memory());
}
