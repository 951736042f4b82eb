// A field that a person does not see: an editor that draws its own text takes its keys there.
function unseen(el) {
  if (!/^(TEXTAREA|INPUT)$/.test(el.tagName)) return false;
  const { left, top, width, height } = el.getBoundingClientRect();
  if (width < 4 || height < 4 || getComputedStyle(el).opacity === '0') return true;
  const [x, y] = [left + width / 2, top + height / 2], view = el.ownerDocument.defaultView;
  const hit = x >= 0 && y >= 0 && x < view.innerWidth && y < view.innerHeight ? el.getRootNode().elementFromPoint(x, y) : el;
  return el.tagName === 'TEXTAREA' && hit !== el && !hit?.closest('label')?.contains(el);
}
