// One request, one answer: what feedback needs to know before a call (`mark`), after it (`look`), and the two actions
// that are the page's own (`clear` the focused field, `scroll`). Loaded after elements.js, whose functions it uses.

const MEMORY = Symbol.for('waymark');

function memory() {
  if (!window[MEMORY] || window[MEMORY].document !== document) {
    const state = { document, changes: 0, changed: 0, effects: 0, target: null, focus: null };
    Object.defineProperty(window, MEMORY, { value: state, enumerable: false, configurable: true });
    new MutationObserver((records) => {
      const seen = records.filter(({ target }) => target.nodeType !== 1 || target.checkVisibility());
      if (!seen.length) return;
      state.changes += 1;
      // a data attribute is a page's note to itself
      if (seen.some(({ attributeName }) => !attributeName?.startsWith('data-'))) state.effects += 1;
      state.changed = performance.now();
    }).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  }
  return window[MEMORY];
}

// ---- describing -----------------------------------------------------------------------------------------------------

function describe(el) {
  if (!el || el === document.body || el === document.documentElement) return el ? { tag: el.tagName.toLowerCase(), role: '', name: '' } : null;
  let target = el;
  for (let node = el; node && node !== document.body; node = parentOf(node)) {
    if (declaredRole(node)) { target = node; break; }
  }
  const role = declaredRole(target);
  // a box of colour has no text: its colour is what a user would call it, and what the element list calls it
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

const editable = (el) => !!el && (el.isContentEditable || el.tagName === 'TEXTAREA'
  || el.tagName === 'INPUT' && !/^(button|submit|reset|image|checkbox|radio|file|hidden|range|color)$/.test(el.type));

const rawValue = (el) => (el.isContentEditable ? el.innerText.replace(/\n$/, '') : el.value);

function focused() {
  const el = deepFocus();
  if (!el || el === document.body || el === document.documentElement) return null;
  const open = editable(el);
  const secret = el.type === 'password';
  return { ...describe(el), editable: open && !el.disabled && !el.readOnly, frozen: open && (el.disabled || el.readOnly),
    select: el.tagName === 'SELECT', fill: /^(date|time|month|week|datetime-local)$/.test(el.type || ''),
    value: open ? rawValue(el) : null, secret };
}

// Like `deepFocus`, through frames of the same origin too.
function innermostFocus() {
  let el = deepFocus();
  while (el?.tagName === 'IFRAME' && el.contentDocument?.activeElement) el = el.contentDocument.activeElement;
  return el;
}

// Whether a field that can be written to got the focus since the mark, or was itself what the mark is on.
function fieldFocused({ target, focus }) {
  const el = innermostFocus();
  return editable(el) && !el.disabled && !el.readOnly && (el !== focus || el.contains(target));
}

// ---- waiting --------------------------------------------------------------------------------------------------------

const frame = () => new Promise((resolve) => { requestAnimationFrame(resolve); setTimeout(resolve, 100); });

// Quiet: nothing visible changed since the mark, or not for two frames, and no finite animation runs. A page that nothing
// changed on costs one task, not a frame. With `still`, nothing may have changed for so many milliseconds besides: pages
// of the web wait for a pause in the typing, or for a timer.
async function quiet(before, limit, still) {
  const state = memory(), end = performance.now() + limit;
  const channel = new MessageChannel();
  await new Promise((resolve) => { channel.port1.onmessage = resolve; channel.port2.postMessage(0); });
  channel.port1.close();
  const animated = () => document.getAnimations().some((animation) => animation.playState === 'running'
    && Number.isFinite(animation.effect?.getComputedTiming().endTime));
  const began = performance.now();
  let seen = before;
  while (performance.now() < end) {
    if (state.changes !== seen || animated()) {
      seen = state.changes;
      await frame();
      await frame();
      continue;
    }
    const left = Math.min(still - (performance.now() - Math.max(began, state.changed)), end - performance.now());
    if (left <= 0) break;
    await new Promise((resolve) => setTimeout(resolve, left));
  }
}

// ---- requests -------------------------------------------------------------------------------------------------------

// The element at a point inside of a frame; of a frame of another origin, the frame itself.
function inFrames(el, [x, y]) {
  while (el?.tagName === 'IFRAME' && el.contentDocument) {
    const { left, top } = el.getBoundingClientRect();
    [x, y] = [x - left - el.clientLeft, y - top - el.clientTop];
    const inner = el.contentDocument.elementFromPoint(x, y);
    if (!inner || inner === el.contentDocument.body || inner === el.contentDocument.documentElement) break;
    el = inner;
  }
  return el;
}

function mark({ at }) {
  const state = memory();
  state.target = at ? inFrames(elementAt(...at), at) : null;
  state.focus = innermostFocus();
  return { url: location.href, changes: state.changes, effects: state.effects, target: describe(state.target) };
}

async function look({ effects, changes, settle, still, elements, instruction }) {
  if (settle) await quiet(changes ?? memory().changes, settle, still);
  const state = memory();
  return { url: location.href, title: document.title, toggled: toggled(state.target), focus: focused(), field: fieldFocused(state),
    changed: effects !== null && state.effects !== effects,
    elements: elements ? elementList(instruction) : null, ready: document.readyState };
}

function clear() {
  const el = deepFocus(), before = focused();
  if (before?.editable && !before.fill && before.value) {
    if (el.isContentEditable) getSelection().selectAllChildren(el);
    else el.select();
  }
  return { focus: before };
}

function choose({ text }) {
  const el = deepFocus();
  const option = [...el.options].find((item) => clean(item.label) === clean(text)) || [...el.options].find((item) => clean(item.label).toLowerCase() === clean(text).toLowerCase());
  if (!option) return { chosen: false };
  el.value = option.value;
  option.selected = true;
  el.dispatchEvent(new Event('input', { bubbles: true }));
  el.dispatchEvent(new Event('change', { bubbles: true }));
  return { chosen: true };
}

function scroll({ at, direction, amount }) {
  const vertical = direction === 'up' || direction === 'down';
  const sign = direction === 'up' || direction === 'left' ? -1 : 1;
  const page = document.scrollingElement || document.documentElement;
  const by = sign * amount * (vertical ? innerHeight : innerWidth);
  const can = (el) => {
    if (el !== page && !/auto|scroll|overlay/.test(getComputedStyle(el)[vertical ? 'overflowY' : 'overflowX'])) return false;
    const [offset, room] = vertical ? [el.scrollTop, el.scrollHeight - el.clientHeight] : [el.scrollLeft, el.scrollWidth - el.clientWidth];
    return sign > 0 ? offset < room - 1 : offset > 0;
  };
  let el = at ? elementAt(...at) : deepFocus();
  while (el && !can(el)) el = parentOf(el);
  el = el || page;
  const before = [el.scrollLeft, el.scrollTop];
  el.scrollBy({ left: vertical ? 0 : by, top: vertical ? by : 0, behavior: 'instant' });
  return { moved: Math.abs(el.scrollLeft - before[0]) + Math.abs(el.scrollTop - before[1]) >= 1 };
}

const focus = () => ({ focus: focused() });

const answer = (request) => ({ mark, look, focus, clear, choose, scroll })[request.op](request);
