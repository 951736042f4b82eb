// What a control belongs to, where others in its document have the same role and name: the article of one of several "Remove",
// the letter of one of several boxes without a name. It needs composed.js and controls.js.

const MAX_TWINS = 200; // more controls with one name are a list that is not told apart
const NAMED_CONTROLS = [NATIVE, ...Object.keys(ARIA).map((role) => `[role="${role}"]`)].join(', ');
const TITLES = 'h1, h2, h3, h4, h5, h6, [role="heading"], th[scope="row"], legend, caption';

let controlsByKey = new Map(); // of documents and shadow roots

const imageText = (el) => el.querySelector('img[alt]')?.alt || el.querySelector('svg title')?.textContent;

// What is equal for controls that read the same, without layout.
const keyOf = (el) => [
  el.tagName, el.type || '', el.getAttribute('role') || '',
  clean(el.getAttribute('aria-label') || el.textContent || imageText(el) || el.placeholder || (/^(button|submit|reset)$/.test(el.type) ? el.value : '') || el.title),
].join('|');

// The elements that read as `el` does and can be seen, itself included.
function twinsOf(el) {
  const root = el.getRootNode();
  if (!controlsByKey.size) queueMicrotask(() => { controlsByKey = new Map(); });
  if (!controlsByKey.has(root)) {
    const byKey = new Map();
    for (const control of root.querySelectorAll?.(NAMED_CONTROLS) || []) {
      const key = keyOf(control);
      if (!byKey.has(key)) byKey.set(key, []);
      byKey.get(key).push(control);
    }
    controlsByKey.set(root, byKey);
  }
  const twins = controlsByKey.get(root).get(keyOf(el)) || [];
  return twins.length > MAX_TWINS ? [] : twins.filter((twin) => twin.getClientRects().length > 0);
}

// The largest element around `el` that holds none of the others.
function itemOf(el, others) {
  let item = el;
  for (let node = el.parentElement; node && !others.some((other) => node.contains(other)); node = node.parentElement) item = node;
  return item;
}

// The first text in an item that is not the control's own: a heading's, else a link's, else any.
function titleIn(item, el) {
  const isOther = (node) => !el.contains(node) && node.getClientRects().length > 0 && clean(node.textContent) && keyOf(node) !== keyOf(el);
  const titled = [...item.querySelectorAll(TITLES)].find(isOther) || [...item.querySelectorAll('a[href]')].find(isOther);
  if (titled) return clean(titled.innerText);
  const walker = document.createTreeWalker(item, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const around = walker.currentNode.parentElement;
    if (clean(walker.currentNode.data) && !/^(STYLE|SCRIPT|OPTION)$/.test(around.tagName) && isOther(around)) return clean(walker.currentNode.data);
  }
  return '';
}

function ownerOf(el) {
  const others = twinsOf(el).filter((twin) => twin !== el);
  if (!others.length) return '';
  const item = itemOf(el, others);
  const title = item === el ? '' : titleIn(item, el);
  return title === nameOf(el, roleOf(el)) ? '' : title;
}
