// A selector engine for Playwright: `waymark-element=REFERENCE REQUEST ARGUMENTS` acts on an element that a snapshot of
// the accessibility tree numbered (`axtree_view.js` remembers them), in Playwright's world of the element's document.
// ARGUMENTS are percent-encoded JSON. The answer is the JSON text of an element outside of the document: `null` if the
// element has left the page. `self` is the element itself.
// It needs image_maps.js, boxless.js, unseen_fields.js and options.js.
({
  queryAll(root, selector) {
    const document = root.ownerDocument || root;
    const [reference, request, encoded] = selector.split(' ');
    const answer = (value) => [Object.assign(document.createElement('data'), { textContent: JSON.stringify(value) })];
    if (globalThis.waymark) globalThis.waymark.naming = false;
    if (request === 'uncovered') return answer(uncovered(root, ...JSON.parse(decodeURIComponent(encoded))));
    const el = globalThis.waymark?.elements.get(reference)?.deref();
    if (request === 'self') return el?.isConnected ? [el] : [];
    if (!el?.isConnected) return answer(null);
    const field = el.localName === 'label' && el.control || el;
    return answer({ place, focus, edit, value, choose }[request](...JSON.parse(decodeURIComponent(encoded || '[]'))));

    function parentOf(node) {
      return node.assignedSlot || node.parentElement || (node.getRootNode() instanceof ShadowRoot ? node.getRootNode().host : null);
    }

    function within(node, ancestor) {
      for (; node; node = parentOf(node)) if (node === ancestor) return true;
      return false;
    }

    // Whether a frame is on top at a point of it, given as fractions of its box.
    function uncovered(frame, right, down) {
      const { left, top, width, height } = frame.getBoundingClientRect();
      const hit = topAt(document.defaultView, left + width * right, top + height * down);
      return !!hit && within(hit, frame);
    }

    function topAt(view, x, y) {
      let hit = null;
      for (let tree = view.document; tree;) {
        const inner = tree.elementFromPoint(x, y);
        if (!inner || inner === hit) break;
        hit = inner;
        tree = hit.shadowRoot;
      }
      return hit;
    }

    function rectangles() {
      const rects = [...el.getClientRects()].filter(hasArea);
      return rects.length ? rects : contentRects(el);
    }

    // Where to click: the centre if it is the element's, or else the first point of its rectangles that is. `own` is
    // false if all its points are covered. The point is in CSS pixels of the top document; with `remote`, of the
    // innermost frame, whose place this world cannot see. Null if the element is not drawn. With `stays` nothing is scrolled.
    function place(stays = false) {
      const view = document.defaultView;
      const isIn = (around, { x, y }) => x >= 0 && y >= 0 && x < around.innerWidth && y < around.innerHeight;
      const isInside = (point) => {
        const { x, y, remote } = outside(view, point, true);
        return isIn(view, point) && (remote || isIn(view.top, { x, y }));
      };
      const at = ({ left, top, width, height }, right, down) => ({ x: left + width * right, y: top + height * down });
      if (!rectangles().length) return null;
      let smooth = false; // the page would still move after the answer
      const around = (node) => parentOf(node) || node.ownerDocument.defaultView.frameElement;
      for (let node = el; node; node = around(node)) smooth ||= getComputedStyle(node).scrollBehavior === 'smooth';
      if (stays) smooth = false;
      else if (isArea(el)) bringArea();
      else if (!smooth) el.scrollIntoViewIfNeeded();
      else if (![at(bounds(), 0, 0), at(bounds(), 0.99, 0.99)].every(isInside)) {
        el.scrollIntoView({ behavior: 'instant', block: 'center', inline: 'nearest' });
      }
      const rects = rectangles();
      const centre = at(bounds(), 0.5, 0.5);
      const points = [centre, ...rects.map((rect) => at(rect, 0.5, 0.5)), ...rects.slice(0, 20).flatMap((rect) => (
        [0.1, 0.3, 0.5, 0.7, 0.9].flatMap((right) => [0.1, 0.5, 0.9].map((down) => at(rect, right, down)))))].filter(isInside);
      const owns = (hit) => hit && (within(hit, el) || hit.closest('label')?.control === el);
      const point = points.find(({ x, y }) => owns(topAt(view, x, y)));
      if (point) return outside(view, point, true);
      const hits = points.map(({ x, y }) => topAt(view, x, y));
      return outside(view, points[0] || centre, !hits.length || hits.some((hit) => !hit || within(el, hit)));
    }

    // An area cannot be scrolled to: its image can, which may be larger than the view.
    function bringArea() {
      const image = imagesOf(el).find((candidate) => candidate.checkVisibility());
      image.scrollIntoViewIfNeeded();
      const { left, top, width, height } = bounds(), x = left + width / 2, y = top + height / 2;
      if (x >= 0 && y >= 0 && x < innerWidth && y < innerHeight) return;
      scrollBy({ left: x - innerWidth / 2, top: y - innerHeight / 2, behavior: 'instant' });
    }

    function bounds() {
      const box = el.getBoundingClientRect(), rects = rectangles();
      if (box.width || box.height) return box;
      const left = Math.min(...rects.map((rect) => rect.left)), top = Math.min(...rects.map((rect) => rect.top));
      return { left, top, width: Math.max(...rects.map((rect) => rect.right)) - left, height: Math.max(...rects.map((rect) => rect.bottom)) - top };
    }

    // A point of a document in the top document, and whether nothing covers the frames around it there.
    function outside(view, inner, own) {
      let { x, y } = inner;
      while (view !== view.top) {
        const frame = view.frameElement; // null in a frame of another origin
        if (!frame) {
          const { left, top } = el.getBoundingClientRect();
          return { x: inner.x - left, y: inner.y - top, own, remote: true };
        }
        const { left, top, width, height } = frame.getBoundingClientRect(), style = getComputedStyle(frame);
        x = left + (frame.clientLeft + parseFloat(style.paddingLeft) + x) * (width / frame.offsetWidth || 1);
        y = top + (frame.clientTop + parseFloat(style.paddingTop) + y) * (height / frame.offsetHeight || 1);
        view = view.parent;
        const hit = topAt(view, x, y);
        own &&= !hit || within(frame, hit);
      }
      return { x, y, own, remote: false };
    }

    function focus() {
      field.focus();
      const active = field.getRootNode().activeElement;
      return active === field || within(active, field);
    }

    // Focuses the field and selects what it holds; without `clear`, puts the cursor behind it. An editor is only focused:
    // an editable element, an unseen field that takes its keys, or the frame of an editor.
    function edit(clear) {
      if (/^(iframe|frame|object)$/.test(el.localName)) {
        el.focus();
        return { editable: true, frozen: false, editor: true };
      }
      const picked = /^(date|time|month|week|datetime-local|color|range)$/.test(field.type || '') ? field.type : '';
      const typed = field.localName === 'textarea' || field.localName === 'input'
        && !/^(button|submit|reset|image|checkbox|radio|file|hidden|range|color)$/.test(field.type);
      const editable = typed || !!picked || field.isContentEditable;
      const frozen = editable && !!(field.disabled || field.readOnly);
      if (!editable || frozen || !focus()) return { editable: false, frozen };
      if (field.isContentEditable || typed && unseen(field)) return { editable, frozen, editor: true };
      if (clear && typed) field.select();
      else if (typed) try { field.setSelectionRange(field.value.length, field.value.length); } catch { /* number and email fields have no cursor */ }
      return { editable, frozen, picked, filled: !!field.value, content: value().value, lines: field.localName === 'textarea' };
    }

    function value() {
      return { value: field.type === 'password' ? null : String(field.value ?? '') };
    }

    function choose(text) {
      if (field.localName !== 'select') return { chosen: null, frozen: false };
      const options = [...field.options], labels = options.map(labelOf), meant = optionsNamed(options, text);
      if (meant.length !== 1) {
        const open = options.filter((option) => !option.hidden && !option.matches(':disabled'));
        return { chosen: null, frozen: false, near: { names: namesNear(open, text), total: open.length, several: meant.length > 1 } };
      }
      const index = options.indexOf(meant[0]);
      if (field.disabled || options[index].matches(':disabled')) return { chosen: null, frozen: true };
      const selected = () => options.flatMap((option, number) => (option.selected ? [labels[number]] : []));
      if (field.multiple) options[index].selected = true;
      else options.forEach((option, number) => { if (option.selected !== (number === index)) option.selected = number === index; });
      field.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
      field.dispatchEvent(new Event('change', { bubbles: true }));
      const multiple = field.multiple, kept = !field.isConnected || options[index].selected;
      return { chosen: labels[index], frozen: false, multiple, kept, selected: selected() };
    }
  },
})
