// Watches the page: what changed since the mark of a call, in the document, its shadow roots and the frames whose
// documents can be read. It needs composed.js and boxless.js.

const MEMORY = Symbol.for('waymark');
const MUTATIONS = { subtree: true, childList: true, attributes: true, characterData: true };
const CONTROLS = 'input, textarea, select, video, audio';
const MAX_COMPARED = 10000; // elements, and controls
const AWAITED = /^(navigation|iframe|frame|fetch|xmlhttprequest|script|link|css)$/; // what starts the requests that NetworkActivity awaits
const MAX_RESPONSES = 50;
const GRID_POINTS = 96;
const GRID_MS = 10;

// Times are those of performance.now(); 0 is never.
function memory() {
  if (window[MEMORY]?.document === document) return window[MEMORY];
  const state = { document, changes: 0, changed: 0, outside: 0, effects: 0, scrolls: 0, scrolled: 0, typed: 0, clicked: 0, moved: 0, target: null,
    focus: null, wheel: null, before: null,
    responses: [], scripted: 0, opaque: [],
    commander: null, pressed: null, refusals: new Map(),
    walked: -1, roots: new Set() };
  Object.defineProperty(window, MEMORY, { value: state, enumerable: false, configurable: true });
  state.observer = new MutationObserver((records) => onMutations(state, records));
  watchRoots(state);
  const requests = new PerformanceObserver((list) => {
    const loaded = performance.getEntriesByType('navigation')[0]?.loadEventStart || Infinity;
    for (const { initiatorType, name, startTime, responseEnd } of list.getEntries()) {
      if (startTime > loaded && isScript(initiatorType, name)) state.scripted = Math.max(state.scripted, responseEnd);
      if (AWAITED.test(initiatorType)) state.responses.push(responseEnd);
    }
    state.responses.splice(0, state.responses.length - MAX_RESPONSES);
  });
  for (const type of ['navigation', 'resource']) requests.observe({ type, buffered: true });
  window.navigation?.addEventListener('currententrychange', () => { state.moved = performance.now(); });
  return state;
}

const isScript = (initiator, url) => initiator === 'script' || /^(link|other)$/.test(initiator) && /\.m?js(\?|$)/.test(url);

// Begins to watch the roots that are not watched yet, and returns whether a visible one was among them.
function watchRoots(state) {
  let found = false;
  state.walked = state.changes;
  for (const root of rootsIn()) {
    if (state.roots.has(root)) continue;
    state.roots.add(root);
    state.observer.observe(root, MUTATIONS);
    listen(state, root);
    found ||= root !== document && isShown(root.host || frameAround(root));
  }
  for (const root of state.roots) if (!isAttached(root)) state.roots.delete(root);
  return found;
}

function listen(state, root) {
  const on = (event, react) => root.addEventListener(event, react, { capture: true, passive: true });
  on('scroll', () => { state.scrolls += 1; state.scrolled = performance.now(); });
  // a script may check fields while they are clicked or typed into: that sends no form
  on('invalid', (event) => { if (state.commander && state.commander !== event.target) state.refusals.set(event.target, event); });
  if (root.host && root.mode === 'open') return; // the document hears the other events of its open shadow roots
  on('input', () => { state.typed = performance.now(); state.commander = null; });
  on('keydown', ({ key }) => { if (key === 'Enter') { state.typed = performance.now(); state.commander = root; } });
  on('keyup', ({ key }) => { if (key !== 'Enter') state.commander = null; });
  on('click', (event) => {
    [state.commander] = event.composedPath();
    if (event.isTrusted) state.pressed = state.commander;
    if (isCommand(state.commander)) state.clicked = performance.now();
  });
}

// The field because of which the browser did not send a form since the mark: it has focused the first invalid one and says
// why in a bubble, which no screenshot shows. Null if there is none, or if the page handles its invalid fields itself.
function refusal(state) {
  const el = innermostFocus(), event = state.refusals.get(el);
  if (!event || event.defaultPrevented || !el.matches(':invalid')) return null;
  return { ...describe(el), message: clean(el.validationMessage || '') };
}

// Whether a click on an element is expected to have an effect on the rest of the page.
function isCommand(el) {
  for (let node = el?.nodeType === 1 ? el : null; node; node = parentOf(node)) {
    const role = declaredRole(node);
    if (role) return /^(button|link|tab|menuitem|option)$/.test(role);
  }
  return false;
}

const isAttached = (root) => (root.host ? root.host.isConnected : root === document || !!root.defaultView);

function onMutations(state, records) {
  const seen = records.filter(({ target }) => isShown(target));
  if (!seen.length) return;
  state.changes += 1;
  // a change of a data attribute alone is not visible
  if (seen.some(({ attributeName }) => !attributeName?.startsWith('data-'))) state.effects += 1;
  state.changed = performance.now();
  if (!state.target || seen.some(({ target }) => !state.target.contains(target))) state.outside = state.changed;
}

// Whether a node is drawn, wherever it is scrolled to.
function isShown(node) {
  const el = node?.nodeType === 1 ? node : node?.parentElement || node?.host || node?.parentNode?.host;
  if (!el) return !!node;
  const frame = frameAround(el.ownerDocument);
  return (el.checkVisibility() || holderOf(el) !== el && holderOf(el).checkVisibility()) && (!frame || isShown(frame));
}

// A change that no mutation tells: count it as one.
function noteChange(state) {
  state.changes += 1;
  state.effects += 1;
  state.changed = state.outside = performance.now();
}

// ---- what no mutation tells -----------------------------------------------------------------------------------------

const chosen = (el) => (el.multiple && el.selectedOptions ? [...el.selectedOptions].map((option) => option.index).join() : el.selectedIndex);
const valueNow = (el) => (el.matches('video, audio') ? `${el.paused}` : `${el.value} ${el.checked} ${el.indeterminate} ${chosen(el)}`);

// The values of the controls, which elements are drawn in view, the scroll positions and the elements at a grid of points.
function snapshot(state) {
  const controls = first(state, CONTROLS).map((el) => [el, valueNow(el)]);
  const all = first(state, '*'), drawn = all.map((el) => [el, isDrawnInView(el)]);
  return { controls, drawn, crowded: all.length === MAX_COMPARED, scrolls: state.scrolls, grid: grid(state),
    style: styleOf(state.target), theme: themeOf(state) };
}

// As many elements of the page as are compared.
function first(state, selector) {
  const found = [];
  for (const root of state.roots) {
    for (const el of root.querySelectorAll(selector)) {
      if (found.length === MAX_COMPARED) return found;
      found.push(el);
    }
  }
  return found;
}

// Whether an element can be seen where it is: style rules and pop-overs show and hide without a mutation.
function isDrawnInView(el) {
  if (!el.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true })) return false;
  const { left, top, right, bottom } = el.getBoundingClientRect(), view = el.ownerDocument.defaultView;
  return right - left >= 1 && bottom - top >= 1 && right > 0 && bottom > 0 && left < view.innerWidth && top < view.innerHeight;
}

// How the whole page is coloured, which a data attribute may change; null if that changes by itself.
function themeOf(state) {
  const { body } = document, moving = movingTargets(state);
  return body && !moving.some((target) => within(body, target)) ? styleOf(body) : null;
}

const movingTargets = (state) => animations(state).filter(isEndless).map((animation) => animation.effect.target);

// Whether an element is drawn now and was not, or the other way round. What moves by itself does not count, and neither does
// a part without text of the control that was clicked: it shows the focus or the press.
function appears(state, drawn) {
  const control = controlAround(state.target), moving = movingTargets(state);
  return drawn.some(([el, before]) => el.isConnected && isDrawnInView(el) !== before
    && !(control?.contains(el) && !clean(el.textContent)) && !moving.some((target) => within(el, target)));
}

// The control of which an element is a part, or the element itself.
function controlAround(el) {
  for (let node = el; node && node !== document.body; node = parentOf(node)) if (declaredRole(node)) return node;
  return el;
}

// The elements at points spread over the view, as many as can be found in a short time: on a page with thousands of
// siblings, each search takes milliseconds. The order is fixed, coarse first.
function grid(state) {
  const found = [], end = performance.now() + GRID_MS;
  for (let index = 0; index < GRID_POINTS && performance.now() < end; index++) {
    const [x, y] = [(index * 0.7548776662) % 1, (index * 0.5698402910) % 1]; // the R2 sequence
    found.push(elementAt(x * innerWidth, y * innerHeight));
  }
  const moving = movingTargets(state);
  return found.map((el) => (el && moving.some((target) => within(el, target)) ? null : el));
}

function styleOf(el) {
  const looks = [];
  for (let node = el, depth = 0; node && depth < 3; node = parentOf(node), depth++) {
    const style = getComputedStyle(node);
    looks.push(style.color, style.backgroundColor, style.backgroundImage, style.borderColor, style.outline, style.boxShadow,
      style.opacity, style.transform, style.textDecoration, style.filter);
  }
  return looks.join('\n');
}

// Whether a snapshot differs from the present. What is typed, and the state of a clicked checkbox, are said
// elsewhere. With `hovered`, the style of the target counts, too.
function differs(state, before, hovered) {
  const focus = innermostFocus(), toggle = state.target && toggleOf(state.target);
  const isOwn = (el) => el === toggle || editable(el) && [focus, state.focus, state.target].includes(el)
    || !!el.name && el.type === 'radio' && [focus, state.focus, toggle].some((other) => other?.type === 'radio' && other.name === el.name);
  return before.scrolls !== state.scrolls
    || before.controls.some(([el, value]) => el.isConnected && !isOwn(el) && isShown(el) && valueNow(el) !== value)
    || before.theme !== null && ![null, before.theme].includes(themeOf(state))
    || hovered && state.target?.isConnected && before.style !== styleOf(state.target)
    || grid(state).some((el, index) => el && before.grid[index] && el !== before.grid[index])
    || appears(state, before.drawn);
}

// ---- what cannot be watched from here -------------------------------------------------------------------------------

// The frames of other origins and the canvases that are in view, and whether there are more elements than are compared. The
// frame at the point of the call is the first; it and the frame with the focus count wherever they are. The canvases are areas
// of the page. The possible hosts of closed shadow roots are collected; on a page that is not live (see `mark`), those are
// custom elements only.
function opaqueParts(state) {
  const roots = [...state.roots];
  const drawn = (el) => isShown(el) && el.checkVisibility({ visibilityProperty: true }) && inView(el);
  const canvases = roots.flatMap((root) => [...root.querySelectorAll('canvas')]).filter(drawn).map((el) => {
    const [left, top, right, bottom] = [...rectsOf(el)][0];
    return { x: left + scrollX, y: top + scrollY, width: right - left, height: bottom - top };
  }).filter(({ width, height }) => width >= 8 && height >= 8);
  for (const root of roots) for (const el of root.querySelectorAll('*')) if (el.localName.includes('-') && isShown(el)) suspect(el);
  if (state.before && state.target) suspect(state.target, true);
  state.opaque = opaqueFrames(roots).filter((el) => [state.target, state.focus].includes(el) || drawn(el))
    .sort((one, other) => (other === state.target) - (one === state.target));
  return { opaque_frames: state.opaque.length, canvases, crowded: state.before?.crowded };
}

function inView(el) {
  for (const [left, top, right, bottom] of rectsOf(el)) if (right - left >= 1 && bottom - top >= 1) return true;
  return false;
}

// ---- animations -----------------------------------------------------------------------------------------------------

const animations = (state) => [...state.roots].flatMap((root) => root.getAnimations())
  .filter((animation) => animation.playState === 'running');
const isEndless = (animation) => !Number.isFinite(animation.effect?.getComputedTiming().endTime);
