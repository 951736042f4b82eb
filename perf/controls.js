// Which controls a person can use now, and which of them the points of an element list reach. It is called in each
// frame with that frame's controls: first `count` with a role of the accessibility tree, then those that only listen for
// clicks or take the focus. Points are in CSS pixels of the window.

(function (points, count, ...controls) {
  const parentOf = (node) => node.parentElement || (node.getRootNode() instanceof ShadowRoot ? node.getRootNode().host : null);
  const ancestors = function* (node) { for (let at = node; at; at = at.assignedSlot || parentOf(at)) yield at; };

  function hit(root, x, y) {
    let el = root.elementFromPoint(x, y);
    while (el && el.shadowRoot) {
      const inner = el.shadowRoot.elementFromPoint(x, y);
      if (!inner || inner === el) break;
      el = inner;
    }
    return el;
  }

  // The offset of this frame in the window; null for a frame that is not reached from here.
  function offset() {
    let [x, y] = [0, 0];
    for (let view = window; view !== view.top; view = view.parent) {
      let holder = null;
      try { holder = view.frameElement; } catch { return null; }
      if (!holder) return null;
      const box = holder.getBoundingClientRect();
      x += box.left + holder.clientLeft;
      y += box.top + holder.clientTop;
    }
    return [x, y];
  }

  // Whether a point of this frame is the frame's in the window: nothing of the outer documents lies over it.
  function uncovered(x, y) {
    let [px, py] = [x, y];
    for (let view = window; view !== view.top; view = view.parent) {
      const holder = view.frameElement, box = holder.getBoundingClientRect();
      px += box.left + holder.clientLeft;
      py += box.top + holder.clientTop;
      if (hit(view.parent.document, px, py) !== holder) return false;
    }
    return px >= 0 && py >= 0 && px < window.top.innerWidth && py < window.top.innerHeight;
  }

  const at = offset();
  const set = new Set(controls);
  const reaches = (el, target) => {
    for (const node of ancestors(target)) {
      if (node === el || node.tagName === 'LABEL' && node.control === el) return true;
    }
    return false;
  };
  // With `display: contents`, the box of an element around it says whether it is shown.
  const holder = (el) => { for (const node of ancestors(el)) if (getComputedStyle(node).display !== 'contents') return node; return el; };
  const shown = (el) => holder(el).checkVisibility({ visibilityProperty: true })
    && (el.matches('input') || holder(el).checkVisibility({ opacityProperty: true }));
  const areas = (el) => [...el.getClientRects()].filter(({ width, height }) => width > 0 && height > 0);

  // The rectangles of an element; of what is in it if it has no area itself, as a link around a floated image.
  function rectangles(el) {
    const own = areas(el), range = document.createRange();
    range.selectNodeContents(el);
    return own.length ? own : [...range.getClientRects(), ...[...el.querySelectorAll('*')].slice(0, 40).flatMap(areas)];
  }

  function usable(el) {
    if (!shown(el)) return false;
    for (const box of rectangles(el)) {
      const [left, top] = [Math.max(box.left, 0), Math.max(box.top, 0)];
      const [right, bottom] = [Math.min(box.right, innerWidth), Math.min(box.bottom, innerHeight)];
      if (right - left < 2 || bottom - top < 2) continue;
      for (const across of [0.5, 0.2, 0.8]) {
        for (const down of [0.5, 0.2, 0.8]) {
          const [x, y] = [left + (right - left) * across, top + (bottom - top) * down];
          const target = hit(document, x, y);
          if (target && reaches(el, target) && uncovered(x, y)) return true;
        }
      }
    }
    return false;
  }

  // A control within another one that is reached is part of it: the button of a tab, the field of a combination box.
  const targets = at && points.map(([x, y]) => [x - at[0], y - at[1]])
    .filter(([x, y]) => uncovered(x, y)).map(([x, y]) => hit(document, x, y)).filter(Boolean);
  const reached = (el) => targets.some((target) => reaches(el, target));
  const outer = (el) => { for (const node of ancestors(parentOf(el))) if (set.has(node)) return node; return null; };
  // What a person sees of a control whose own input is hidden: the nearest box around it that holds no other control.
  function drawn(el) {
    if (usable(el) || !el.matches('input[type=range], input[type=checkbox], input[type=radio]')) return el;
    for (const node of ancestors(parentOf(el))) {
      if (controls.some((other) => other !== el && node.contains(other))) return el;
      const box = node.getBoundingClientRect();
      if (Math.min(box.width, box.height) >= 8) return node;
    }
    return el;
  }

  return controls.map((control, index) => {
    const el = at && control.nodeType === 1 ? drawn(control) : null;
    if (!el || !usable(el)) return null;
    const around = outer(control);
    const box = el.getBoundingClientRect();
    if (index >= count) {
      const large = box.width * box.height > 0.1 * window.top.innerWidth * window.top.innerHeight;
      if (large || around || controls.some((other) => other !== control && control.contains(other))) return null;
    }
    const text = control.getAttribute('aria-label') || el.innerText || el.title || '';
    const name = text.replace(/\s+/g, ' ').trim().slice(0, 40);
    const kind = `${control.tagName.toLowerCase()} ${control.getAttribute('role') || control.type || ''}`.trim();
    const place = `${Math.round(box.left + at[0])},${Math.round(box.top + at[1])}`;
    return { reached: reached(el) || (around !== null && reached(around)), name: `${kind} "${name}"`, place };
  });
})
