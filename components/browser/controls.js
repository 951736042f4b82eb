// What an element is to a person: its role, name, value and state as the element list words them. Only what can be seen or
// is announced counts (computed style, ARIA), and whether what is drawn like a control listens; never data-* attributes or class
// names. It needs composed.js, options.js and listeners.js.

const ATOMIC = new Set(['button', 'link', 'tab', 'option', 'checkbox', 'radio', 'menuitem', 'slider', 'select']);
const ARIA = {
  button: 'button', link: 'link', checkbox: 'checkbox', switch: 'checkbox', menuitemcheckbox: 'checkbox', radio: 'radio',
  menuitemradio: 'radio', tab: 'tab', option: 'option', textbox: 'field', searchbox: 'field', spinbutton: 'field',
  combobox: 'select', menuitem: 'menuitem', slider: 'slider', treeitem: 'option', gridcell: null,
};
const SAME = {
  button: 'button, input', checkbox: 'input[type="checkbox"], input[type="radio"]', radio: 'input[type="radio"]', field: 'input, textarea',
  select: 'input, select, textarea, button', slider: 'input',
}; // the native controls that such an element may be drawn with
const OWN = 'a[href], button, input, select, textarea';
const NATIVE = 'a[href], button, input, select, textarea, summary';
const INPUTS = {
  button: 'button', submit: 'button', reset: 'button', image: 'button', checkbox: 'checkbox', radio: 'radio',
  range: 'slider', hidden: null,
};
const KINDS = {
  file: 'file', date: 'date', time: 'time', month: 'month', week: 'week', 'datetime-local': 'datetime', color: 'colour', number: 'number',
};
const STATEFUL = '[aria-haspopup]:not([aria-haspopup="false"]), [aria-expanded], [aria-pressed], [aria-checked], [aria-selected]';
const FOCUSABLE_AREA = /^(region|tabpanel|dialog|alertdialog|main|article|document|application|grid|table|tree|list|listbox|menu|menubar|tablist|toolbar|group|radiogroup|log|feed|form|navigation|complementary|figure|img|separator|tooltip|status|alert|progressbar)$/;
const INNER = 'a[href], button, input:not([type="hidden"]), select, textarea, [role="button"], [role="link"], [role="menuitem"], [role="option"],'
  + ' [role="tab"], [role="treeitem"], [tabindex]:not([tabindex="-1"]), [contenteditable="true"]';
const LISTED_OPTIONS = 20;
const COLOURS = {
  red: [255, 0, 0], blue: [0, 0, 255], olive: [128, 128, 0], lime: [0, 255, 0], black: [0, 0, 0], white: [255, 255, 255],
  grey: [128, 128, 128], purple: [128, 0, 128], orange: [255, 165, 0], yellow: [255, 255, 0], cyan: [0, 255, 255],
  pink: [255, 192, 203], magenta: [255, 0, 255], green: [0, 128, 0], navy: [0, 0, 128], teal: [0, 128, 128],
  maroon: [128, 0, 0], silver: [192, 192, 192], gold: [255, 215, 0], brown: [165, 42, 42], violet: [238, 130, 238],
  beige: [245, 245, 220], turquoise: [64, 224, 208], indigo: [75, 0, 130], salmon: [250, 128, 114], tan: [210, 180, 140],
};

const LABELLED = /^(INPUT|SELECT|TEXTAREA|BUTTON)$/;
const XHTML = 'http://www.w3.org/1999/xhtml';

const clean = (text) => (text || '').replace(/\u200b/g, '').replace(/\s+/g, ' ').trim(); // editors mark an empty line by a space of no width
const quoted = (text) => `"${(text.length > 60 ? text.slice(0, 57) + '...' : text).replace(/"/g, "'")}"`;

// The text of an element, with what its slots and its shadow root show.
function textOf(el) {
  const text = clean(el.innerText);
  return text || !shadowOf(el) && !el.querySelector('slot') ? text : clean(composedText(el, { left: 200 }));
}

function composedText(el, budget) {
  const nodes = el.tagName === 'SLOT' && el.assignedNodes().length ? el.assignedNodes() : (shadowOf(el) || el).childNodes;
  const parts = [];
  for (const node of nodes) {
    if (budget.left-- <= 0) break;
    if (node.nodeType === 3) parts.push(node.data);
    else if (node.nodeType === 1 && !/^(STYLE|SCRIPT)$/.test(node.tagName) && (node.tagName === 'SLOT' || isVisible(node))) parts.push(composedText(node, budget));
  }
  return parts.join(' ');
}

// ---- role -----------------------------------------------------------------------------------------------------------

function declaredRole(el) {
  const aria = (el.getAttribute('role') || '').trim().split(/\s+/)[0].toLowerCase();
  if (aria === 'presentation' || aria === 'none') { // a part of a widget, whose parent is listed
    if (ARIA[(parentOf(el)?.getAttribute('role') || '').toLowerCase()]) return null;
  }
  if (ARIA[aria] && !el.matches(NATIVE) && holdsItself(el, ARIA[aria])) return null; // the control inside is listed
  if (ARIA[aria]) return aria === 'combobox' && el.matches('input:not([readonly]), textarea, [contenteditable]') ? 'field' : ARIA[aria];
  switch (el.tagName) {
    case 'AREA': return el.hasAttribute('href') ? 'link' : null;
    case 'A': case 'a': return el.hasAttribute('href') || el.hasAttribute('xlink:href') ? 'link' : null; // 'a' in SVG
    case 'BUTTON': case 'SUMMARY': return 'button';
    case 'INPUT': return el.type in INPUTS ? INPUTS[el.type] : 'field';
    case 'TEXTAREA': return 'field';
    case 'SELECT': return el.multiple || el.size > 1 ? null : 'select';
    case 'OPTION': return el.parentElement && el.closest('select')?.size > 1 || el.closest('select')?.multiple ? 'option' : null;
  }
  return isEditor(el) ? 'field' : null;
}

// Whether a native control that is drawn in an element is what the element's role says, or has all of its text. A switch often
// hides a checkbox that only keeps its state. Others are controls of their own, such as the button that closes a tab.
function holdsItself(el, role) {
  const controls = [el, shadowOf(el)].flatMap((root) => [...(root?.querySelectorAll(':is(button, input, select, textarea):not([role])') || [])]);
  const isItself = (control) => SAME[role] && control.matches(SAME[role]) || textOf(control) === textOf(el);
  return controls.some((control) => isVisible(control) && control.getClientRects().length > 0 && isItself(control));
}

// The outermost editable element; the body where the whole document is (`designMode`).
const isEditor = (el) => el.isContentEditable && (el === el.ownerDocument.body || !el.parentElement?.isContentEditable);

const underlined = (style) => style.textDecorationLine.includes('underline');

function looksRole(el) {
  // An element that only looks clickable: a pointer cursor, or underlined text in a colour of its own.
  const parent = parentOf(el);
  if (!parent || el === el.ownerDocument.body) return null;
  const style = getComputedStyle(el), around = getComputedStyle(parent);
  const ownUnderline = underlined(style) && !underlined(around) && style.color !== around.color && el.tagName !== 'U';
  if (ownUnderline && clean(el.innerText)) return 'link';
  const pointed = style.cursor === 'pointer' && !pressesControl(el)
    && !(around.cursor === 'pointer' && parent !== parent.ownerDocument.body && !holdsSeveral(parent));
  if (!pointed) return announcedRole(el);
  if (holdsSeveral(el)) return null;
  if (el.querySelector('a[href], button, input, select, textarea, [role]') || shadowOf(el)?.querySelector(NATIVE)) return null;
  if (isBox(el)) return null;
  return textOf(el) || nameOf(el, 'button') ? (underlined(style) ? 'link' : 'button') : null;
}

// Whether an element is a label, or has its cursor from a part of a label that is drawn around the label's control.
function pressesControl(el) {
  const label = el.closest('label'), control = label?.control;
  if (!control || label === el) return !!control;
  for (let node = parentOf(el); node && label.contains(node); node = parentOf(node)) {
    if (node.contains(control) && getComputedStyle(node).cursor === 'pointer') return true;
  }
  return false;
}

// An element without a role that takes the focus or announces a state: a part of a widget that people press.
function announcedRole(el) {
  const isFocusable = el.hasAttribute('tabindex') && el.tabIndex >= 0;
  const twin = isFocusable || el.hasAttribute('onclick') || el.matches(STATEFUL) ? el : focusableTwin(el);
  if (!twin || !pressableName(el)) return null;
  if (twin !== el) return declaredRole(twin) || announcedRole(twin);
  return el.hasAttribute('aria-checked') ? 'checkbox' : el.hasAttribute('aria-selected') ? 'option' : 'button';
}

// The name of an element that may be one control: of a button's size, without a control in it. Empty if it is none.
function pressableName(el) {
  if (el.tagName === 'LABEL' && el.control || FOCUSABLE_AREA.test(el.getAttribute('role') || '')) return '';
  const { width, height } = el.getBoundingClientRect();
  if (width * height > 0.2 * innerWidth * innerHeight || el.querySelector(INNER) || shadowOf(el)?.querySelector(INNER)) return '';
  const name = nameOf(el, 'button');
  return name.length > 100 ? '' : name;
}

// Of several items alike, such as the files of a list, one takes the focus at a time and has tabindex 0 (a roving tabindex).
// The others have -1, and may lack the role, but are pressed as well. Returns the one with 0, at the same place in its item.
function focusableTwin(el) {
  if (el.getAttribute('tabindex') !== '-1') return null;
  const path = [];
  for (let node = el; node.parentElement && path.length < 4; node = node.parentElement) {
    path.unshift(CSS.escape(node.localName));
    const twin = node.parentElement.querySelector(`:scope > ${path.join(' > ')}[tabindex="0"]`);
    if (twin) return twin;
  }
  return null;
}

// Whether an element only groups several parts with text. A group may have very many.
function holdsSeveral(el) {
  for (let node = el.firstChild; node; node = node.nextSibling) if (node.nodeType === 3 && node.data.trim()) return false;
  if (el.childElementCount < 2) return false;
  let parts = 0;
  for (let child = el.firstElementChild; child && parts < 2; child = child.nextElementSibling) parts += clean(child.innerText) ? 1 : 0;
  return parts > 1;
}

// ---- boxes of colour ------------------------------------------------------------------------------------------------

const colours = new Map(); // by their text

// Red, green, blue (0 to 255) and opacity (0 to 1) of a computed colour, which may be one such as `oklch(0.7 0.1 250)`.
function rgba(colour) {
  if (!colours.has(colour)) {
    if (colours.size > 1000) colours.clear(); // a page may animate them
    colours.set(colour, colour.startsWith('rgb') ? inRgb(colour) : drawnColour(colour));
  }
  return colours.get(colour);
}

function inRgb(colour) {
  const [r, g, b, a = 1] = (colour.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
  return [r, g, b, a];
}

function drawnColour(colour) {
  const context = new OffscreenCanvas(1, 1).getContext('2d');
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
}

const distance = (one, other) => [0, 1, 2].reduce((sum, part) => sum + Math.abs(one[part] - other[part]), 0);

function backdrop(el) {
  for (let node = parentOf(el); node; node = parentOf(node)) {
    const colour = rgba(getComputedStyle(node).backgroundColor);
    if (colour[3] > 0.5) return colour;
  }
  return [255, 255, 255, 1];
}

function isBox(el) {
  if (el.childElementCount || clean(el.textContent) || el.namespaceURI !== XHTML) return false;
  if (/^(IMG|CANVAS|VIDEO|IFRAME|HR|BR|INPUT|TEXTAREA|SELECT|BUTTON|OBJECT|EMBED|PROGRESS|METER|AUDIO)$/.test(el.tagName)) return false;
  const { width, height } = el.getBoundingClientRect();
  if (Math.min(width, height) < 8 || width * height > 0.4 * innerWidth * innerHeight) return false;
  const style = getComputedStyle(el), colour = rgba(style.backgroundColor);
  if (colour[3] <= 0.5) return false;
  const behind = backdrop(el);
  const differs = (other) => distance(colour, other) > 48;
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

// ---- labels ---------------------------------------------------------------------------------------------------------

let labels = new Map(); // of controls, by root; `control.labels` reads the whole tree for each control

function labelsOf(el) {
  const root = el.getRootNode();
  if (!labels.size) queueMicrotask(() => { labels = new Map(); });
  if (!labels.has(root)) {
    const byControl = new Map();
    for (const label of root.querySelectorAll?.('label') || []) {
      const control = label.control;
      if (control) byControl.set(control, [...(byControl.get(control) || []), label]);
    }
    labels.set(root, byControl);
  }
  return labels.get(root).get(el) || [];
}

// ---- name, value, state ---------------------------------------------------------------------------------------------

// The text of a label without the options of a select in it.
function labelText(node) {
  if (node.nodeType === 3) return node.data;
  if (node.nodeType !== 1 || node.tagName === 'SELECT') return '';
  return node.querySelector('select') ? [...node.childNodes].map(labelText).join(' ') : node.innerText;
}

// An editor that takes the place of a hidden field of a form has that field's label.
function replacedName(el) {
  for (let around = parentOf(el), depth = 0; around && depth < 4; around = parentOf(around), depth++) {
    const fields = [...ownChildren.call(around)].filter((child) => child !== el && child.matches('input, textarea') && !child.checkVisibility());
    const names = fields.flatMap(labelsOf).filter(isVisible).map((label) => clean(labelText(label))).filter(Boolean);
    if (names.length) return names.length === 1 ? names[0] : '';
  }
  return '';
}

function nameOf(el, role) {
  const byId = (el.getAttribute('aria-labelledby') || '').split(/\s+/).filter(Boolean)
    .map((id) => clean(el.getRootNode().getElementById(id)?.innerText)).filter(Boolean).join(' ');
  const named = byId || clean(el.getAttribute('aria-label'));
  if (named) return named;
  if (el.matches('input, select, textarea')) {
    if (role === 'button') return clean(el.value) || clean(el.alt) || clean(el.title) || (el.type === 'submit' ? 'Submit' : '');
    const label = labelsOf(el).map((node) => clean(labelText(node))).filter(Boolean).join(' ');
    if (label) return label;
    if (role === 'checkbox' || role === 'radio') {
      const next = el.nextSibling;
      return clean(next && (next.nodeType === 3 ? next.data : next.nodeType === 1 && !declaredRole(next) ? next.innerText : '')) || clean(el.title);
    }
    const before = el.previousElementSibling;
    const beside = before && before.tagName === 'LABEL' && !before.control ? clean(before.innerText) : '';
    return beside || clean(el.placeholder) || clean(el.title) || replacedName(el);
  }
  if (role === 'field') return clean(el.getAttribute('aria-placeholder')) || clean(el.title) || replacedName(el);
  if (el.tagName === 'OPTION') return clean(el.label);
  if (isArea(el)) return clean(el.alt) || clean(el.title);
  const image = el.matches('img') ? el : el.querySelector('img[alt]');
  const host = el.getRootNode().host;
  return textOf(el) || clean(image?.alt) || clean(el.querySelector('svg title')?.textContent) || clean(el.title)
    || clean(host?.getAttribute('aria-label')) || clean(host?.title);
}

function valueOf(el, role) {
  if (el.tagName === 'SELECT') return clean([...el.selectedOptions].map((option) => option.label).join(', '));
  if (el.isContentEditable) return clean(el.innerText);
  if (role === 'slider' || role === 'field' || role === 'select') {
    if (el.type === 'file') return [...el.files].map((file) => file.name).join(', ');
    const value = el.value ?? el.getAttribute('aria-valuenow') ?? clean(el.innerText);
    return el.type === 'password' ? '*'.repeat(value.length) : clean(String(value));
  }
  return '';
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

// The role of an element in the list; null if it has no line.
const roleOf = (el) => ownRole(el) || (listening.has(el) && isOneControl(el) ? 'button' : null);
const ownRole = (el) => declaredRole(el) || looksRole(el) || (isBox(el) ? 'box' : null);

// The words of its line, some of them empty. `surface` is where an editor draws its text.
function wordsOf(el, role, focus, { details, surface, owner }) {
  const states = statesOf(el, role, focus);
  if (role === 'box') return [role, colourName(el), ...states];
  const name = nameOf(el, role), value = surface ? clean(surface.innerText) : valueOf(el, role);
  const more = details ? [optionsOf(el), el.tagName === 'INPUT' && KINDS[el.type]] : [];
  return [role, name && quoted(name), owner && `of ${quoted(owner)}`, value && `value ${quoted(value)}`, ...more, surface && 'multiline',
    ...states.filter((state) => !surface || state !== 'multiline')];
}

// The options of a select that opens a list of its own, the first of them. The value is the one that is selected.
function optionsOf(el) {
  if (el.tagName !== 'SELECT') return '';
  const options = [...el.options].filter((option) => !option.hidden && !option.matches(':disabled'));
  const names = namesOf(options).slice(0, LISTED_OPTIONS).map((name) => name.replace(/\|/g, '/'));
  const labels = names.map((label) => (label.length > 40 ? label.slice(0, 37) + '...' : label));
  const left = options.length - labels.length;
  return options.length ? `options "${[...labels, ...(left ? [`${left} more`] : [])].join(' | ').replace(/"/g, "'")}"` : '';
}
