// Controls that only a listener makes, such as a <div> with a frame around its text: no script can ask for listeners. DevTools
// can. Elements that are drawn like a control and have no role are collected while the list is made, listeners.py asks about
// them, and `heard` remembers those that listen, which then have lines like buttons. It needs controls.js.

const MAX_UNHEARD = 32; // elements for one answer
const MAX_TIMES = 3; // times that an element is asked about, because a script may begin to listen later
const BETWEEN_MS = 500; // from one time to the next
const ENOUGH_ALIKE = 4; // elements of one kind that do not listen, such as the cells of a table: the others are not asked about

const listening = new WeakSet();
const questions = new WeakMap(); // by element: how many, and when the last was
let collected = new Map(); // by kind: how many elements of this list are asked about
const heardKinds = new Set(); // of which an element listens
let unheard = new Set();

// Collect an element without a role if it is drawn like a control and may listen.
function askToHear(el) {
  const asked = questions.get(el);
  if (unheard.size >= MAX_UNHEARD || el.namespaceURI !== XHTML || listening.has(el)) return;
  if (asked && (asked.times >= MAX_TIMES || performance.now() - asked.at < BETWEEN_MS)) return;
  if (collected.get(kindOf(el)) >= ENOUGH_ALIKE && !heardKinds.has(kindOf(el))) return;
  if (LABELLED.test(el.tagName) || el === el.ownerDocument.body || !hasEdge(el) || !isOneControl(el)) return;
  unheard.add(el);
  collected.set(kindOf(el), (collected.get(kindOf(el)) || 0) + 1);
}

// Whether an element has a name and holds no controls, which would lose their lines to it.
function isOneControl(el) {
  if (!pressableName(el) || holdsSeveral(el)) return false; // the first one measures, and leaves large parts of the page unread
  return ![...el.querySelectorAll('*'), ...(shadowOf(el)?.querySelectorAll('*') || [])].some((inner) => listening.has(inner) || ownRole(inner));
}

const kindOf = (el) => `${el.parentElement?.localName} ${el.localName} ${el.className}`;

// Whether a border or a background of its own shows where an element ends.
function hasEdge(el) {
  const style = getComputedStyle(el), isSeen = (colour) => rgba(colour)[3] > 0.5;
  if (parseFloat(style.borderTopWidth) > 0 && parseFloat(style.borderLeftWidth) > 0 && isSeen(style.borderTopColor)) return true;
  return isSeen(style.backgroundColor) && distance(rgba(style.backgroundColor), backdrop(el)) > 12;
}

// Before each list: what is to be asked about is collected anew.
function beginToHear() {
  unheard = new Set();
  collected = new Map();
}

// The elements to ask about.
function toHear() {
  const all = [...unheard];
  unheard = new Set();
  for (const el of all) questions.set(el, { times: (questions.get(el)?.times || 0) + 1, at: performance.now() });
  return all;
}

function heard(...elements) {
  for (const el of elements) {
    listening.add(el);
    heardKinds.add(kindOf(el));
  }
}
