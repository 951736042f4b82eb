// Answers one request: it reads the page before a call (`mark`) and after it (`look`), asks fields.js about the focused field
// (`focus`, `hold`, `written`, `clear`, `paste`, `choose`, `set`), or says where to turn the wheel (`aim`). It needs the other files of this folder.

// ---- describing -----------------------------------------------------------------------------------------------------

function describe(el) {
  if (!el || el === document.body || el === document.documentElement) return el ? { tag: el.tagName.toLowerCase(), role: '', name: '' } : null;
  let target = el;
  for (let node = el; node && node !== document.body; node = parentOf(node)) {
    if (declaredRole(node)) { target = node; break; }
  }
  const role = declaredRole(target);
  // a coloured box has no text: its colour is its name, as in the element list
  const unlisted = isBox(target) ? colourName(target) : target.childElementCount ? '' : clean(target.innerText);
  const text = role ? nameOf(target, role) : unlisted;
  const name = text.length > 40 ? (role ? text.slice(0, 37) + '...' : '') : text;
  return { tag: target.tagName.toLowerCase(), role: target.getAttribute('role') || '', name: name.replace(/"/g, "'") };
}

function toggleOf(el) {
  for (let node = el; node; node = parentOf(node)) {
    const control = node.tagName === 'LABEL' ? node.control : node;
    if (control && (control.type === 'checkbox' || control.type === 'radio')) return control;
    if (control && /^(checkbox|radio|switch)$/.test(control.getAttribute('role') || '')) return control;
    if (declaredRole(node)) return null;
  }
  return null;
}

function toggled(el) {
  const control = el && el.isConnected ? toggleOf(el) : null;
  if (!control) return '';
  return control.checked === true || control.getAttribute('aria-checked') === 'true' ? 'checked' : 'unchecked';
}

// Whether a writable field got the focus since the mark, or the clicked element is in the focused field.
function fieldFocused(state) {
  const el = innermostFocus(), isField = editable(el) || el?.type === 'color'; // `write` sets a colour
  return isField && !el.disabled && !el.readOnly && (el !== state.focus || el.contains(clicked(state)));
}

// The marked element. A frame of another origin is marked without a point, so there it is the element that was clicked since.
const clicked = (state) => state.target || state.pressed;

// ---- requests -------------------------------------------------------------------------------------------------------

// The element at a point; where a frame shows no element, the frame itself.
function target([x, y]) {
  const el = elementAt(x, y), inner = el?.ownerDocument;
  return (el === inner?.body || el === inner?.documentElement) && frameAround(inner) || el;
}

// A page is live if it may react at any time: then all that can be watched is remembered, not only the changes of the document.
// What cannot be watched from here is told in both cases.
function mark({ at, live }) {
  const state = memory();
  if (live || state.walked !== state.changes) watchRoots(state);
  state.target = at ? target(at) : null;
  state.focus = innermostFocus();
  state.wheel = null;
  state.commander = state.pressed = null;
  state.refusals.clear();
  state.before = live ? { ...snapshot(state), loading: new Set(loadingSigns(state)) } : null;
  return { url: location.href, changes: state.changes, effects: state.effects, target: describe(state.target), ...opaqueParts(state) };
}

async function look(request) {
  const state = memory();
  const { effects, settle, elements, tree, hovered } = request;
  if (settle) await quiet(state, request);
  const wheel = turned(state);
  const changed = effects !== null && (state.effects !== effects || !!state.before && differs(state, state.before, hovered));
  return { url: location.href, title: document.title, toggled: toggled(clicked(state)), focus: focused(), field: fieldFocused(state),
    has_focus: document.hasFocus(),
    changed, wheel, refusal: refusal(state), calm: performance.now() - state.changed, elements: elements ? elementList({ ...request, parts: null }) : null,
    frames: elements && framesShown.length ? partsWanted() : [],
    ...(tree ? { beyond: screensBeyond(), editors: hasEditors() } : {}) };
}

// ---- what an accessibility tree does not tell -----------------------------------------------------------------------

// How many screens the page continues above and below the view, if people can scroll it; 0 if by at most 8 pixels.
function screensBeyond() {
  const scroller = scrollerOf(document);
  if (!scroller) return [0, 0];
  const height = scroller.clientHeight, above = scroller.scrollTop, below = scroller.scrollHeight - height - above;
  return [above, below].map((pixels) => (pixels > 8 && height ? pixels / height : 0));
}

// Whether there may be editors that are textboxes, of whose text a tree lacks a part (`axtree_view.js`).
function hasEditors() {
  return [...rootsIn()].some((root) => [...root.querySelectorAll('[role*=textbox i]')].some((el) => el.isContentEditable));
}

// ---- other requests -------------------------------------------------------------------------------------------------

const focus = () => ({ focus: focused() });
const elements = (request) => ({ elements: elementList(request) });

// The list once more, after closed roots were adopted or listeners found.
const relist = (request) => ({ focus: focused(), elements: elementList({ ...request, parts: null }), frames: partsWanted() });

// Every answer brings what was copied in this document since the last one (clipboard.js), and the numbers of elements
// that may hold closed shadow roots and were not asked about yet, and that may listen.
async function answer(request) {
  const reply = await ({ mark, look, focus, hold, written, clear, paste, choose, set, aim, elements, relist, framePart })[request.op](request);
  if (globalThis.waymarkCopied) [reply.copied, globalThis.waymarkCopied] = [globalThis.waymarkCopied, null];
  return { ...reply, suspects: suspects.size, drawn: drawn.size };
}

answer.frame = (index) => framesShown[index];
answer.opaqueFrame = (index) => memory().opaque[index];
answer.focusedFrame = deepFocus;
answer.asked = asked;
answer.adopt = adopt;
answer.unnumbered = unnumbered;
answer.number = number;
answer.hear = hear;
