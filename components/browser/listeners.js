// Controls that only a listener makes, such as a <div> with a frame around its text: no script can ask for listeners. DevTools
// can. While a list is made, elements without a role that are drawn like a control are collected. listeners.py asks DevTools
// once for all listeners of the document, and `hear` finds the collected elements among them: these have lines like buttons
// as long as they listen. Elements are compared by DevTools' numbers (backendNodeId). It needs composed.js and controls.js.

const MAX_DRAWN = 256; // elements for one list, in the order in which they are read
const DEEPEST = 40; // levels below an element in which a control is looked for

const listening = new WeakSet();
const numbers = new WeakMap(); // DevTools' numbers of elements
let drawn = new Set(); // the elements of the last list that may listen
let questioned = []; // those whose numbers were asked for
let holders = new Map(); // by element, for one list: whether a control is inside

// Before each list.
function forgetDrawn() {
  drawn = new Set();
  holders = new Map();
}

// Collect an element without another role if it is drawn like a control.
function collectDrawn(el) {
  if (drawn.size >= MAX_DRAWN || el.namespaceURI !== XHTML || LABELLED.test(el.tagName) || el === el.ownerDocument.body) return;
  if (listening.has(el) || hasEdge(el) && isOneControl(el)) drawn.add(el);
}

// Whether an element has a name and holds no controls, which would lose their lines to it.
const isOneControl = (el) => !!pressableName(el) && !holdsSeveral(el) && !holdsControl(el, 0);

function holdsControl(el, depth) {
  if (depth > DEEPEST) return true;
  if (!holders.has(el)) {
    const isControl = (inner) => isFrame(inner) || listening.has(inner) || !!ownRole(inner) || holdsControl(inner, depth + 1);
    holders.set(el, [...childrenOf(el)].some(isControl));
  }
  return holders.get(el);
}

// Whether a border or a background of its own shows where an element ends.
function hasEdge(el) {
  const style = getComputedStyle(el), isSeen = (colour) => rgba(colour)[3] > 0.5;
  if (parseFloat(style.borderTopWidth) > 0 && parseFloat(style.borderLeftWidth) > 0 && isSeen(style.borderTopColor)) return true;
  return isSeen(style.backgroundColor) && distance(rgba(style.backgroundColor), backdrop(el)) > 12;
}

// The collected elements without a number.
function unnumbered() {
  questioned = [...drawn].filter((el) => !numbers.has(el));
  return questioned;
}

// The numbers of the elements that `unnumbered` gave; null for one that has left the page.
const number = (given) => given.forEach((value, index) => { if (value !== null) numbers.set(questioned[index], value); });

// The numbers of all elements of the document that listen. Returns whether other collected elements listen than before.
function hear(given) {
  const known = new Set(given);
  let isOther = false;
  for (const el of drawn) {
    const listens = known.has(numbers.get(el));
    isOther ||= listens !== listening.has(el);
    if (listens) listening.add(el);
    else listening.delete(el);
  }
  return isOther;
}
