// Reads what `blocked.py` judges a page by. It sees the document with its open shadow roots, not inside of frames.

const LIMIT = 3000; // characters of visible text; more makes no difference
const NODES = 5000;
const FIELDS = 'input:not([type=hidden], [type=submit], [type=button], [type=checkbox], [type=radio], [type=image]), textarea, select';
const CAPTCHA_FIELD = '[name*=captcha i], [id*=captcha i], [class*=captcha i], [name$="-response"]';

const seen = (el) => el.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });

// Share of the viewport that an element covers; 0 if it is not visible.
function share(el) {
  if (!seen(el)) return 0;
  const { left, top, right, bottom } = el.getBoundingClientRect();
  const width = Math.min(right, innerWidth) - Math.max(left, 0), height = Math.min(bottom, innerHeight) - Math.max(top, 0);
  return Math.max(0, width) * Math.max(0, height) / (innerWidth * innerHeight);
}

// What lies over the middle of the page: a dialog or a fixed part that has no fields of its own; null if nothing does.
function overlay() {
  const middle = document.elementFromPoint(innerWidth / 2, innerHeight / 2);
  for (let node = middle; node && node !== document.body; node = parentOf(node)) {
    const fixed = getComputedStyle(node).position === 'fixed';
    if (!fixed && !node.matches('dialog[open], [role=dialog], [aria-modal=true]')) continue;
    const fields = [...node.querySelectorAll(FIELDS)].filter((field) => !field.matches(CAPTCHA_FIELD) && seen(field));
    return fields.length ? null : node;
  }
  return null;
}

const parentOf = (node) => node.parentElement || node.getRootNode().host;

const shows = (el) => el.checkVisibility() || getComputedStyle(el).display === 'contents';

// The nodes of a tree in order, without those of hidden elements.
function* nodes(root) {
  for (const node of root.childNodes) {
    if (node.nodeType === 1 && (/^(SCRIPT|STYLE|NOSCRIPT|TEMPLATE|HEAD)$/.test(node.tagName) || !shows(node))) continue;
    yield node;
    if (node.nodeType === 1 && node.tagName !== 'SELECT') yield* nodes(node.shadowRoot || node);
  }
}

// gates, others, widgets: selectors of marks by name; sources: words of inline scripts by name. Only gates, and what lies
// over the page, matter on a page of more than `enough` characters. One query for all of them answers for most pages,
// because a large page makes queries slow.
function blockEvidence({ gates, others, widgets, sources, enough }) {
  const parts = [], marks = {};
  let length = 0, links = 0, navigation = 0, fields = 0, passwords = 0, visited = 0;
  for (const node of nodes(document)) { // a document that a script opened anew has no element yet
    if (++visited > NODES || length >= LIMIT) break;
    if (node.nodeType === 3) {
      const text = node.data.replace(/\s+/g, ' ').trim();
      if (!text || !node.parentElement || !seen(node.parentElement)) continue;
      parts.push(text);
      length += text.length + 1;
    } else if (node.nodeType === 1 && node.matches(`a[href], ${FIELDS}`) && share(node) > 0) {
      if (node.tagName === 'A') {
        links += 1;
        if (node.closest('nav, header, [role=navigation], [role=banner]')) navigation += 1;
      } else if (!node.matches(CAPTCHA_FIELD)) {
        fields += 1;
        if (node.type === 'password') passwords += 1;
      }
    }
  }
  const text = parts.join(' ').slice(0, LIMIT);
  for (const selectors of text.length > enough ? [gates] : [gates, others]) {
    if (!document.querySelector(Object.values(selectors).join())) continue;
    for (const [name, selector] of Object.entries(selectors)) {
      const found = [...document.querySelectorAll(selector)];
      if (found.length) marks[name] = Math.max(...found.map(share));
    }
  }
  if (text.length <= enough) {
    for (const script of document.querySelectorAll('script:not([src])')) {
      for (const [name, words] of Object.entries(sources)) if (!(name in marks) && script.textContent.includes(words)) marks[name] = 0;
    }
  }
  const over = overlay();
  const covering = over && {
    text: (over.innerText ?? over.textContent).replace(/\s+/g, ' ').trim().slice(0, LIMIT),
    captchas: Object.keys(widgets).filter((name) => [...over.querySelectorAll(widgets[name])].some((el) => share(el) > 0)),
  };
  return { text, links, navigation, fields, passwords, covering, marks };
}
