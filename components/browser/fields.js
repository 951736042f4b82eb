// The focused field: what it is (`focus`), and what `write` does inside of the page: remember it (`hold`) and read it
// again (`written`), select its content (`clear`), give it a text (`paste`), choose its options (`choose`), or set a value that people pick (`set`).
// It needs composed.js, elements.js, unseen_fields.js, options.js and `describe` of probe.js.

const MAX_OPTIONS = 30;
const TAKES_NO_TEXT = /^(button|submit|reset|image|checkbox|radio|file|hidden|range|color)$/;
const PICKED = /^(date|time|month|week|datetime-local|range|color)$/;

const editable = (el) => !!el && (el.isContentEditable || !!el.editContext || el.tagName === 'TEXTAREA'
  || el.tagName === 'INPUT' && !TAKES_NO_TEXT.test(el.type));

// Whether the text of an editable element is source code, in which a line break is a character and not a paragraph.
const isCode = (el) => !el.spellcheck && getComputedStyle(el).whiteSpace.startsWith('pre');

const rawValue = (el, hidden) => (hidden || el.editContext ? null : el.isContentEditable ? el.innerText.replace(/\n$/, '') : el.value);

const choosable = (el) => [...el.options].filter((option) => !option.hidden && !option.matches(':disabled'));

function focused(el = deepFocus()) {
  if (!el || el === document.documentElement || el === document.body && !el.isContentEditable) return null;
  const open = editable(el), closed = !!(el.disabled || el.readOnly), hidden = open && unseen(el);
  const editor = open && (el.isContentEditable || !!el.editContext || hidden);
  const select = el.tagName === 'SELECT', picked = el.tagName === 'INPUT' && PICKED.test(el.type) ? el.type : '';
  const options = select ? choosable(el) : [];
  return { ...describe(el), editable: open && !closed, frozen: (open || !!picked) && closed,
    select, multiple: select && el.multiple, expanded: select && el.matches(':open'), picked, file: el.type === 'file',
    options: namesOf(options).slice(0, MAX_OPTIONS).map((name) => name.slice(0, 60)), options_left: Math.max(0, options.length - MAX_OPTIONS),
    editor, code: editor && (hidden || !!el.editContext || isCode(el)), lines: editor || el.tagName === 'TEXTAREA',
    sends: /^(send|search|go|done|next)$/.test(el.enterKeyHint || ''),
    value: open ? rawValue(el, hidden) : null, secret: el.type === 'password' };
}

let held = null; // the field into which `write` writes; the page may move the focus on while it does

function hold() {
  held = deepFocus();
  const selection = held?.isContentEditable ? getSelection() : null;
  if (selection && !selection.rangeCount) { // without a cursor, as in a frame that took the focus by script, no key moves it
    selection.selectAllChildren(held);
    selection.collapseToEnd();
  }
  return { focus: focused() };
}

// The held field as it is now; null once it has left the page.
const written = () => ({ focus: held?.isConnected ? focused(held) : null });

// Selects the content of a plain field. An editor may keep a selection of its own, so it is cleared with keys.
function clear() {
  const el = deepFocus(), before = hold().focus;
  if (before?.editable && !before.editor && !before.picked && before.value) el.select();
  return { focus: before };
}

// Gives a text to the focused field as a paste does. A listener takes the text if it cancels the event or stops it on its way.
function paste({ text }) {
  const el = deepFocus(), view = el.ownerDocument.defaultView, data = new DataTransfer();
  let arrived = false;
  const note = () => { arrived = true; };
  data.setData('text/plain', text);
  view.addEventListener('paste', note);
  const kept = el.dispatchEvent(new ClipboardEvent('paste', { bubbles: true, cancelable: true, composed: true, clipboardData: data }));
  view.removeEventListener('paste', note);
  return { taken: !kept || !arrived };
}

function tell(el) {
  el.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
  el.dispatchEvent(new Event('change', { bubbles: true }));
}

const selectedOf = (el) => [...el.selectedOptions].map(labelOf);

// Chooses the options of a <select> by their names, or by their values; `keep` leaves the present choice of several.
function choose({ texts, keep }) {
  const el = deepFocus(), open = choosable(el), meant = texts.map((text) => optionsNamed(open, text));
  const missing = texts.filter((_, index) => meant[index].length !== 1);
  if (missing.length) {
    return { missing, near: { names: namesNear(open, missing[0]), total: open.length, several: optionsNamed(open, missing[0]).length > 1 } };
  }
  const chosen = meant.flat();
  if (!el.multiple) el.value = chosen[0].value;
  else if (!keep) for (const option of el.options) option.selected = false;
  for (const option of chosen) option.selected = true;
  const requested = selectedOf(el);
  tell(el);
  return { missing, requested, selected: el.isConnected ? selectedOf(el) : null };
}

// Sets the value of a field that people pick from. The field may change it, as a slider does to the nearest step.
function set({ value }) {
  const el = deepFocus(), before = el.value;
  el.value = value;
  if (value && !el.value) el.value = before;
  else tell(el);
  return { value: el.value };
}
