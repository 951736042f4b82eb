// Controls without an area of their own, which people see by their content: a link around a floated or positioned image, or
// one with `display: contents`. It needs no other file, because the element list and the accessibility tree both use it.

const WRAPPERS = 'a[href], button, summary, label, [role="button"], [role="link"], [role="tab"], [role="menuitem"], [role="option"], [onclick]';
const MOST_PARTS = 40;

const hasArea = ({ width, height }) => width > 0 && height > 0;

// Whether an element is such a control, unless its content has no area either.
const lacksArea = (el) => el.matches(WRAPPERS) && ![...el.getClientRects()].some(hasArea);

// The client rectangles of the content of an element, as far as it is in the first parts.
function contentRects(el) {
  const rects = [], parts = [el], range = document.createRange();
  for (let index = 0; index < Math.min(parts.length, MOST_PARTS); index++) {
    for (const child of [...partsOf(parts[index])].slice(0, MOST_PARTS)) {
      if (child.nodeType === 3 && child.data.trim()) {
        range.selectNode(child);
        rects.push(...[...range.getClientRects()].filter(hasArea));
      } else if (child.nodeType === 1) {
        const own = [...child.getClientRects()].filter(hasArea);
        rects.push(...own);
        if (!own.length) parts.push(child);
      }
    }
  }
  return rects;
}

function partsOf(el) {
  const assigned = el.localName === 'slot' ? el.assignedNodes() : [];
  return el.shadowRoot?.childNodes || (assigned.length ? assigned : el.childNodes);
}

// The element whose box says whether an element is drawn: with `display: contents`, one around it.
function holderOf(el) {
  let node = el;
  while (node && getComputedStyle(node).display === 'contents') node = node.assignedSlot || node.parentElement || node.parentNode?.host;
  return node || el;
}
