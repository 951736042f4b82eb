// Tells what a person does in a page, in our isolated world: each trusted event becomes a message with the element list as it
// was before the page reacted, and the line that the event is about. It needs composed.js, survey.js, controls.js, hits.js,
// elements.js, fields.js and wheel.js. `say(message)` sends a message.

const STILL_PX = 6; // a pointer that moved further has dragged
const EDITING = /^(Backspace|Delete|ArrowLeft|ArrowRight|Home|End|PageUp|PageDown|Insert)$/;
const CLIPBOARD = /^[acvxyz]$/i;
const MODIFIER = /^(Shift|Control|Alt|Meta|CapsLock|AltGraph|Dead|Process|Unidentified|NumLock)$/;
const PRESSED = 'a[href], button, summary, input:is([type=button], [type=submit], [type=reset], [type=image], [type=checkbox], [type=radio])';

let press = null; // the pointer's button that is down
let armed = null; // a key that will press the focused control
let line = null; // Enter in a field with lines, until it is known whether it breaks the line
let wheel = null; // where the person scrolls, since the last other event
let current = null; // the field that the last events were about

const deepTarget = (event) => { const el = event.composedPath()[0]; return el?.nodeType === 1 ? el : el?.parentElement ?? null; };
const listedName = (el, role) => (role === 'box' ? colourName(el) : quoted(nameOf(el, role)).slice(1, -1));

// ---- the list ---------------------------------------------------------------------------------------------------------

// The names of all elements of the page with a role, whether they are in view or not, by how many have them.
function countsOf(candidates) {
  const counts = {};
  const visit = (el) => {
    const role = candidates.roleOf(el);
    if (!role || candidates.isInside(el) || !isVisible(el)) return;
    const key = `${role} ${listedName(el, role)}`;
    counts[key] = (counts[key] || 0) + 1;
  };
  new Survey(visit).readAll(document.body || document.documentElement);
  return counts;
}

function controlOf(el) {
  for (let node = el; node; node = parentOf(node)) if (node.tagName === 'LABEL' && node.control) return node.control;
  return null;
}

// The place of an element among the lines; -1 if no line is about it.
function placeAmong(items, el) {
  const holds = (item, node) => within(node, item.el) || item.surface && within(node, item.surface);
  const innermost = (node) => items.reduce((best, item, index) => (holds(item, node) && (best < 0 || within(item.el, items[best].el)) ? index : best), -1);
  const control = controlOf(el), own = innermost(el);
  if (own >= 0) return own;
  if (control) return innermost(control);
  const drawn = items.filter((item) => within(elementAt(...item.place), el)); // a styled control, whose input is hidden
  return drawn.length === 1 ? items.indexOf(drawn[0]) : -1;
}

// The list now, with the line of an element and the number of elements that have each name.
function lookAt(el) {
  const candidates = new Candidates(null, true);
  candidates.survey.readAll(document.body || document.documentElement);
  const items = readingOrder(placed(candidates)).slice(0, MAX_LINES);
  const lines = items.map((item) => lineOf({ words: wordsOf(item.el, item.role, null, { details: true, surface: item.surface }).filter(Boolean), place: item.place }));
  return { lines: lines.join('\n'), line: el ? placeAmong(items, el) : -1, counts: countsOf(candidates), tag: el ? el.tagName.toLowerCase() : '', items };
}

const lookAtWithoutItems = (el) => { const { items, ...look } = lookAt(el); return look; };

// ---- the pointer --------------------------------------------------------------------------------------------------------

const modifiersOf = (event) => [['ctrlKey', 'Control'], ['altKey', 'Alt'], ['metaKey', 'Meta'], ['shiftKey', 'Shift']].filter(([name]) => event[name]).map(([, name]) => name);

function onPointerDown(event) {
  flushWheel();
  current = null;
  const el = deepTarget(event);
  press = null;
  if (!el || startsScrollBar(event, el)) return;
  press = { look: lookAtWithoutItems(el), x: event.clientX, y: event.clientY, button: ['left', 'middle', 'right'][event.button] || 'left', isSlider: el.type === 'range', modifiers: modifiersOf(event) };
}

function onPointerUp(event) {
  if (!press) return;
  const { look, x, y, button, isSlider, modifiers } = press;
  press = null;
  if (isSlider) return; // its value is told
  if (Math.hypot(event.clientX - x, event.clientY - y) > STILL_PX) {
    if (getSelection()?.isCollapsed !== false) say({ kind: 'drag', ...look });
  } else say({ kind: 'click', button, modifiers, ...look });
}

// A click without a pointer: a key has pressed the focused control.
function onClick(event) {
  if (!armed || !within(deepTarget(event), armed.el) && !armed.isRadio) return;
  say({ kind: 'click', button: 'left', modifiers: [], ...(armed.isRadio ? lookAtWithoutItems(deepTarget(event)) : armed.look) });
  armed = null;
}

// ---- scrolling ----------------------------------------------------------------------------------------------------------

function beginWheel(scroller) {
  if (wheel?.scroller === scroller) return;
  flushWheel();
  const { items, ...look } = lookAt(null);
  const isPage = scroller === rootScroller(document.documentElement);
  const inside = isPage ? -1 : items.findIndex((item) => within(item.el, scroller));
  wheel = { scroller, isPage, left: scroller.scrollLeft, top: scroller.scrollTop, look: { ...look, line: inside } };
}

function onWheel(event) {
  const vertical = Math.abs(event.deltaY) >= Math.abs(event.deltaX), sign = (vertical ? event.deltaY : event.deltaX) < 0 ? -1 : 1;
  const scroller = scrollersAt([event.clientX, event.clientY]).find((el) => hasRoom(el, vertical, sign));
  if (scroller) beginWheel(scroller);
}

function startsScrollBar(event, el) {
  const isRoot = el === document.documentElement;
  const isBar = isRoot ? event.clientX >= el.clientWidth || event.clientY >= el.clientHeight : scrolls(el, true) && (event.offsetX >= el.clientWidth || event.offsetY >= el.clientHeight);
  if (isBar) beginWheel(isRoot ? rootScroller(el) : el);
  return isBar;
}

function flushWheel() {
  if (!wheel) return;
  const { scroller, isPage, left, top, look } = wheel;
  wheel = null;
  const [width, height] = isPage ? [innerWidth, innerHeight] : [scroller.clientWidth, scroller.clientHeight];
  const down = (scroller.scrollTop - top) / height, right = (scroller.scrollLeft - left) / width;
  const [amount, directions] = Math.abs(down) >= Math.abs(right) ? [down, ['down', 'up']] : [right, ['right', 'left']];
  if (Math.abs(amount) >= 0.01) say({ kind: 'scroll', direction: directions[Number(amount < 0)], amount: Math.abs(amount), page: isPage, ...look });
}

// ---- the keyboard -------------------------------------------------------------------------------------------------------

const isLetter = (event) => [...event.key].length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;

function keyName(event) {
  const key = event.key === ' ' ? 'Space' : event.key, isShifted = event.shiftKey && ([...event.key].length > 1 || event.ctrlKey);
  return [...modifiersOf(event).filter((name) => name !== 'Shift' || isShifted), key].join('+');
}

// Whether a key only edits what the field holds, or chooses in the control, so that its value says it all.
function onlyEdits(event, el) {
  if (el.tagName === 'SELECT' || el.type === 'range') return event.key !== 'Tab';
  if (!editable(el) && !PICKED.test(el.type || '')) return false;
  if (isLetter(event) || EDITING.test(event.key)) return true;
  if ((event.ctrlKey || event.metaKey) && CLIPBOARD.test(event.key)) return true;
  return /^Arrow/.test(event.key) && (hasLines(el) || el.tagName === 'INPUT' && PICKED.test(el.type) || el.type === 'number');
}

const hasLines = (el) => el.isContentEditable || el.tagName === 'TEXTAREA' || !!el.editContext;

function onKeyDown(event) {
  const el = innermostFocus() || document.body;
  if (event.isComposing || MODIFIER.test(event.key)) return;
  flushWheel();
  armed = null;
  if (onlyEdits(event, el)) return;
  current = null;
  const isRadio = el.type === 'radio' && /^Arrow/.test(event.key);
  if (isRadio || el.matches(PRESSED) && /^(Enter| )$/.test(event.key) && !modifiersOf(event).length && !(event.key === 'Enter' && /^(checkbox|radio)$/.test(el.type))) {
    armed = { el, isRadio, look: lookAtWithoutItems(el) };
    return;
  }
  const message = { kind: 'press', key: keyName(event) };
  if (event.key !== 'Enter' || !hasLines(el) || modifiersOf(event).some((name) => name !== 'Shift')) return void say(message);
  line = message;
  setTimeout(() => { if (line === message) { say(message); line = null; } }, 0);
}

function onBeforeInput(event) {
  if (/^insert(LineBreak|Paragraph)$/.test(event.inputType)) line = null; // Enter is in the text
}

// ---- what fields hold -----------------------------------------------------------------------------------------------------

function onInput(event) {
  const el = deepTarget(event);
  if (!el || /^(checkbox|radio)$/.test(el.type) || el.tagName === 'BUTTON') return;
  if (el.type === 'file') return void say({ kind: 'file', ...lookAtWithoutItems(el) });
  if (el.tagName === 'SELECT') {
    const open = choosable(el), names = namesOf(open);
    const texts = [...el.selectedOptions].map((option) => names[open.indexOf(option)] ?? labelOf(option));
    return void say({ kind: 'choose', text: texts.join('\n'), ...lookAtWithoutItems(el) });
  }
  const isSlider = el.type === 'range' || el.type === 'color', root = el.isContentEditable ? hostOf(el) : el;
  if (!isSlider && !editable(root)) return;
  const look = current === root ? {} : lookAtWithoutItems(root);
  current = root;
  say({ kind: 'write', text: root.isContentEditable ? root.innerText.replace(/\n$/, '') : root.value, secret: root.type === 'password', ...look });
}

function hostOf(el) {
  let root = el;
  while (root.parentElement?.isContentEditable) root = root.parentElement;
  return root;
}

// ---- controls that only a listener makes ----------------------------------------------------------------------------------

// The elements that may listen, for listeners.py. A person's click is reported at once, so the listeners are read before it.
function collect() {
  forgetDrawn();
  new Candidates(null, true, true).survey.readAll(document.body || document.documentElement);
  return drawn.size;
}

globalThis.waymarkPerson = { collect, unnumbered, number, hear };

// ---- listeners ----------------------------------------------------------------------------------------------------------

const attached = new WeakSet(); // windows that have the listeners below

function listenIn(root) {
  if (!root || attached.has(root)) return;
  attached.add(root);
  const passive = (name) => name !== 'wheel'; // a passive listener would hear of it after the page has scrolled
  const on = (name, react) => root.addEventListener(name, (event) => { if (event.isTrusted) react(event); }, { capture: true, passive: passive(name) });
  on('pointerdown', onPointerDown);
  on('pointerup', onPointerUp);
  on('dblclick', () => say({ kind: 'double' }));
  on('click', onClick);
  on('wheel', onWheel);
  on('keydown', onKeyDown);
  on('beforeinput', onBeforeInput);
  on('input', onInput);
  on('dragstart', () => { if (press) say({ kind: 'drag', ...press.look }); press = null; });
  on('load', (event) => listenInFrame(event.target));
  for (const frame of root.document.querySelectorAll('iframe, frame')) listenInFrame(frame);
}

function listenInFrame(el) {
  const inner = el?.nodeType === 1 ? documentIn(el) : null;
  if (inner) listenIn(inner.defaultView);
}

if (window === window.top) {
  listenIn(window);
  addEventListener('DOMContentLoaded', () => document.querySelectorAll('iframe, frame').forEach(listenInFrame));
  addEventListener('pagehide', flushWheel);
}
