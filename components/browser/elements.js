// The visible things of a page one can act on, in reading order, one line each:
//   - button "cancel" 512 86
// role, quoted name, then value and state words, then the point to click in 0-1000 of the viewport on both axes.
// Only what a user can see: computed style, layout and hit testing; never data-* attributes or class names.

const MOST = 200; // lines
const ATOMIC = new Set(['button', 'link', 'tab', 'option', 'checkbox', 'radio', 'menuitem', 'slider', 'select']);
const ARIA = {
  button: 'button', link: 'link', checkbox: 'checkbox', switch: 'checkbox', menuitemcheckbox: 'checkbox', radio: 'radio',
  menuitemradio: 'radio', tab: 'tab', option: 'option', textbox: 'field', searchbox: 'field', spinbutton: 'field',
  combobox: 'select', menuitem: 'menuitem', slider: 'slider', treeitem: 'option', gridcell: null,
};
const NATIVE = 'a[href], button, input, select, textarea, summary';
const INPUTS = {
  button: 'button', submit: 'button', reset: 'button', image: 'button', checkbox: 'checkbox', radio: 'radio',
  range: 'slider', hidden: null,
};
const COLOURS = {
  red: [255, 0, 0], blue: [0, 0, 255], olive: [128, 128, 0], lime: [0, 255, 0], black: [0, 0, 0], white: [255, 255, 255],
  grey: [128, 128, 128], purple: [128, 0, 128], orange: [255, 165, 0], yellow: [255, 255, 0], cyan: [0, 255, 255],
  pink: [255, 192, 203], magenta: [255, 0, 255], green: [0, 128, 0], navy: [0, 0, 128], teal: [0, 128, 128],
  maroon: [128, 0, 0], silver: [192, 192, 192], gold: [255, 215, 0], brown: [165, 42, 42], violet: [238, 130, 238],
  beige: [245, 245, 220], turquoise: [64, 224, 208], indigo: [75, 0, 130], salmon: [250, 128, 114], tan: [210, 180, 140],
};

const clean = (text) => (text || '').replace(/\s+/g, ' ').trim();
const quoted = (text) => `"${(text.length > 60 ? text.slice(0, 57) + '...' : text).replace(/"/g, "'")}"`;
const parentOf = (el) => el.parentElement || (el.getRootNode() instanceof ShadowRoot ? el.getRootNode().host : null);

function within(el, ancestor) {
  for (let node = el; node; node = parentOf(node)) if (node === ancestor) return true;
  return false;
}

function elementAt(x, y) {
  let el = document.elementFromPoint(x, y);
  while (el && el.shadowRoot) {
    const inner = el.shadowRoot.elementFromPoint(x, y);
    if (!inner || inner === el) break;
    el = inner;
  }
  return el;
}

// ---- role -----------------------------------------------------------------------------------------------------------

function declaredRole(el) {
  const aria = (el.getAttribute('role') || '').trim().split(/\s+/)[0].toLowerCase();
  if (aria === 'presentation' || aria === 'none') { // the part of a widget that its parent speaks for
    if (ARIA[(parentOf(el)?.getAttribute('role') || '').toLowerCase()]) return null;
  }
  if (ARIA[aria] && !el.matches(NATIVE) && el.querySelector(':is(button, input, select, textarea):not([role])')) return null;
  if (ARIA[aria]) return aria === 'combobox' && el.matches('input, textarea, [contenteditable]') ? 'field' : ARIA[aria];
  switch (el.tagName) {
    case 'A': return el.hasAttribute('href') ? 'link' : null;
    case 'BUTTON': case 'SUMMARY': return 'button';
    case 'INPUT': return el.type in INPUTS ? INPUTS[el.type] : 'field';
    case 'TEXTAREA': return 'field';
    case 'SELECT': return el.multiple || el.size > 1 ? null : 'select';
    case 'OPTION': return el.parentElement && el.closest('select')?.size > 1 || el.closest('select')?.multiple ? 'option' : null;
  }
  return el.isContentEditable && !parentOf(el)?.isContentEditable ? 'field' : null;
}

const underlined = (style) => style.textDecorationLine.includes('underline');

function looksRole(el) {
  // What the page only makes look clickable: a pointer cursor, or underlined text in a colour of its own.
  const parent = parentOf(el);
  if (!parent || el === document.body) return null;
  const style = getComputedStyle(el), around = getComputedStyle(parent);
  const ownUnderline = underlined(style) && !underlined(around) && style.color !== around.color && el.tagName !== 'U';
  if (ownUnderline && clean(el.innerText)) return 'link';
  if (style.cursor !== 'pointer' || el.tagName === 'LABEL' && el.control) return null;
  if (around.cursor === 'pointer' && parent !== document.body && !holdsSeveral(parent)) return null;
  if (holdsSeveral(el)) return null;
  if (el.querySelector('a[href], button, input, select, textarea, [role]')) return null;
  if (isBox(el)) return null;
  return clean(el.innerText) || nameOf(el, 'button') ? (underlined(style) ? 'link' : 'button') : null;
}

function holdsSeveral(el) {
  const own = [...el.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  return !own && [...el.children].filter((child) => clean(child.innerText)).length > 1;
}

// ---- boxes of colour ------------------------------------------------------------------------------------------------

const rgba = (colour) => {
  const [r, g, b, a = 1] = (colour.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
  return [r, g, b, a];
};

function backdrop(el) {
  for (let node = parentOf(el); node; node = parentOf(node)) {
    const colour = rgba(getComputedStyle(node).backgroundColor);
    if (colour[3] > 0.5) return colour;
  }
  return [255, 255, 255, 1];
}

function isBox(el) {
  if (el.childElementCount || clean(el.textContent) || !(el instanceof HTMLElement)) return false;
  if (/^(IMG|CANVAS|VIDEO|IFRAME|HR|BR|INPUT|TEXTAREA|SELECT|BUTTON|OBJECT|EMBED|PROGRESS|METER|AUDIO)$/.test(el.tagName)) return false;
  const { width, height } = el.getBoundingClientRect();
  if (Math.min(width, height) < 8 || width * height > 0.4 * innerWidth * innerHeight) return false;
  const style = getComputedStyle(el), colour = rgba(style.backgroundColor);
  if (colour[3] <= 0.5) return false;
  const behind = backdrop(el);
  const differs = (other) => Math.abs(colour[0] - other[0]) + Math.abs(colour[1] - other[1]) + Math.abs(colour[2] - other[2]) > 48;
  return differs(behind) || parseFloat(style.borderTopWidth) > 0 && parseFloat(style.borderLeftWidth) > 0 && differs(rgba(style.borderTopColor));
}

function colourName(el) {
  const [r, g, b] = rgba(getComputedStyle(el).backgroundColor);
  let best = null, least = Infinity;
  for (const [name, [r2, g2, b2]] of Object.entries(COLOURS)) {
    const distance = (r - r2) ** 2 + (g - g2) ** 2 + (b - b2) ** 2;
    if (distance < least) [best, least] = [name, distance];
  }
  return best;
}

// ---- name, value, state ---------------------------------------------------------------------------------------------

function nameOf(el, role) {
  const byId = (el.getAttribute('aria-labelledby') || '').split(/\s+/).filter(Boolean)
    .map((id) => clean(el.getRootNode().getElementById(id)?.innerText)).filter(Boolean).join(' ');
  const named = byId || clean(el.getAttribute('aria-label'));
  if (named) return named;
  if (el.matches('input, select, textarea')) {
    if (role === 'button') return clean(el.value) || clean(el.alt) || clean(el.title) || (el.type === 'submit' ? 'Submit' : '');
    const label = [...(el.labels || [])].map((node) => clean(node.innerText)).filter(Boolean).join(' ');
    if (label) return label;
    if (role === 'checkbox' || role === 'radio') {
      const next = el.nextSibling;
      return clean(next && (next.nodeType === 3 ? next.data : next.nodeType === 1 && !declaredRole(next) ? next.innerText : '')) || clean(el.title);
    }
    const before = el.previousElementSibling;
    const beside = before && before.tagName === 'LABEL' && !before.control ? clean(before.innerText) : '';
    return beside || clean(el.placeholder) || clean(el.title);
  }
  if (role === 'field') return clean(el.getAttribute('aria-placeholder')) || clean(el.title);
  if (el.tagName === 'OPTION') return clean(el.label);
  const image = el.matches('img') ? el : el.querySelector('img[alt]');
  return clean(el.innerText) || clean(image?.alt) || clean(el.querySelector('svg title')?.textContent) || clean(el.title);
}

function valueOf(el, role) {
  if (el.tagName === 'SELECT') return clean([...el.selectedOptions].map((option) => option.label).join(', '));
  if (el.isContentEditable) return clean(el.innerText);
  if (role === 'slider' || role === 'field' || role === 'select') {
    const value = el.value ?? el.getAttribute('aria-valuenow') ?? clean(el.innerText);
    return el.type === 'password' ? '*'.repeat(value.length) : clean(String(value));
  }
  return '';
}

function deepFocus() {
  let el = document.activeElement;
  while (el && el.shadowRoot && el.shadowRoot.activeElement) el = el.shadowRoot.activeElement;
  return el;
}

function statesOf(el, role, focus) {
  const on = (attribute) => el.getAttribute(attribute) === 'true';
  const words = [];
  if (el.checked === true && (role === 'checkbox' || role === 'radio') || on('aria-checked')) words.push('checked');
  const selected = on('aria-selected') || el.tagName === 'OPTION' && el.selected || el.matches('[aria-current]:not([aria-current="false"])');
  if (selected) words.push('selected');
  if (!selected && (on('aria-expanded') || el.tagName === 'SUMMARY' && el.parentElement?.open)) words.push('expanded');
  if (on('aria-pressed')) words.push('pressed');
  if (el.tagName === 'TEXTAREA' || on('aria-multiline')) words.push('multiline');
  if (el.disabled === true || on('aria-disabled') || el.matches(':disabled')) words.push('disabled');
  if (el === focus) words.push('focused');
  return words;
}

// ---- place ----------------------------------------------------------------------------------------------------------

const visible = (el) => el.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });

function rectOf(el) {
  let best = null, area = 0;
  for (const { left, top, right, bottom } of el.getClientRects()) {
    const box = [Math.max(left, 0), Math.max(top, 0), Math.min(right, innerWidth), Math.min(bottom, innerHeight)];
    const size = Math.max(0, box[2] - box[0]) * Math.max(0, box[3] - box[1]);
    if (size > area) [best, area] = [box, size];
  }
  return area >= 1 ? best : null;
}

// The point to click: the centre of the part in the viewport, or, where something covers that, the seen point nearest to
// the middle of what is seen (a 7 × 7 grid). Null if nothing of the element can be hit.
function pointOf(el, hit) {
  const box = rectOf(el);
  if (!box) return null;
  const [left, top, right, bottom] = box;
  const centre = [(left + right) / 2, (top + bottom) / 2];
  if (hit(elementAt(...centre))) return centre;
  const seen = [];
  const [insetX, insetY] = [Math.min(1, (right - left) / 4), Math.min(1, (bottom - top) / 4)];
  for (let i = 0; i < 7; i++) {
    for (let j = 0; j < 7; j++) {
      const point = [left + insetX + (right - left - 2 * insetX) * i / 6, top + insetY + (bottom - top - 2 * insetY) * j / 6];
      if (hit(elementAt(...point))) seen.push(point);
    }
  }
  if (!seen.length) return null;
  const middle = [0, 1].map((axis) => seen.reduce((sum, point) => sum + point[axis], 0) / seen.length);
  const away = (point) => (point[0] - middle[0]) ** 2 + (point[1] - middle[1]) ** 2;
  return seen.reduce((best, point) => (away(point) < away(best) ? point : best));
}

function placeOf(el, role) {
  const through = getComputedStyle(el).pointerEvents === 'none';
  const hit = (other) => other && (within(other, el) || through && within(el, other));
  if (visible(el)) {
    const point = pointOf(el, hit);
    if (point) return point;
  }
  if (role !== 'checkbox' && role !== 'radio') return null;
  const label = [...(el.labels || [])].find(visible); // a styled control: the input is transparent, its label is not
  return label ? pointOf(label, (other) => other && within(other, label)) : null;
}

// ---- the list -------------------------------------------------------------------------------------------------------

function* walk(root, inside) {
  for (const el of root.children) {
    const atomic = yield [el, inside];
    yield* walk(el.shadowRoot || el, inside || atomic === true);
  }
}

function listed(instruction) {
  const focus = deepFocus();
  const note = instruction ? document.querySelector(instruction) : null;
  const found = [];
  const root = document.body || document.documentElement;
  if (!root) return found; // a window that was just opened
  const walker = walk(root, false);
  for (let step = walker.next(); !step.done;) {
    const [el, inside] = step.value;
    let role = null;
    if (!inside && !(note && within(el, note))) {
      role = declaredRole(el) || looksRole(el) || (isBox(el) ? 'box' : null);
      const place = role && placeOf(el, role);
      if (place) {
        const colour = role === 'box' ? colourName(el) : '';
        const name = role === 'box' ? colour : nameOf(el, role);
        const value = role === 'box' ? '' : valueOf(el, role);
        const words = [role, colour || (name && quoted(name)), value && `value ${quoted(value)}`, ...statesOf(el, role, focus)];
        const box = rectOf(el) || [place[0], place[1], place[0], place[1]];
        found.push({ words, place, top: box[1], bottom: box[3] });
      }
    }
    step = walker.next(ATOMIC.has(role));
  }
  return found;
}

// Rows from top to bottom, each from left to right; in one row are things whose middle lies within the row's first thing.
function readingOrder(found) {
  const middle = (item) => (item.top + item.bottom) / 2;
  found.sort((a, b) => middle(a) - middle(b));
  const rows = [];
  for (const item of found) {
    const row = rows.at(-1);
    if (row && middle(item) < row[0].bottom - 1) row.push(item);
    else rows.push([item]);
  }
  return rows.flatMap((row) => row.sort((a, b) => a.place[0] - b.place[0]));
}

function elementList(instruction) {
  const scaled = (value, size) => Math.min(1000, Math.max(0, Math.round((value / size) * 1000)));
  return readingOrder(listed(instruction)).slice(0, MOST)
    .map(({ words, place }) => `- ${[...words.filter(Boolean), scaled(place[0], innerWidth), scaled(place[1], innerHeight)].join(' ')}`)
    .join('\n');
}
