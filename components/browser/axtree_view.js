// A selector engine for Playwright (`selectors.register`). Playwright runs it in its own isolated world of each document,
// which has its own DOM prototypes: the document and the worlds of the page and of our probe stay as they are.
//
// `waymark-view=body THRESHOLD BUDGET` is the root of an accessibility snapshot. Playwright's snapshot costs 50 to 100 µs
// per element of the page. In a document of at least THRESHOLD elements it therefore passes over what is outside of the
// viewport: `firstChild`, `nextSibling` and `assignedNodes`, with which it walks, skip it in this world while the
// snapshot is taken. Of what is in view, it gets at most BUDGET elements: those on top at a grid of points, then those
// first in the document. Frames that were marked with `silent` since the last plan are passed over.
//
// `waymark-view=frame THRESHOLD BUDGET` prepares a child frame in the same way for the snapshot of its parent.
// `waymark-view=editors` answers the texts of editors by their references, as far as the snapshot has less of them.
// `waymark-view=silent`, asked of a frame's element, marks a frame that does not answer, and answers whether it is in view.
// `waymark-view=left` answers how many elements in view the last snapshot left out; `null` if none was taken. An answer
// is an object, as the JSON text of an element outside of the document. In this world password fields read as asterisks, and slots have
// the box of their content, and areas of image maps have that of their shape. It needs image_maps.js and boxless.js.
({
  queryAll(root, request) {
    const SMALL = 20; // a part in view with at most so many elements is walked whole: names may come from what is hidden
    const OPTIONS = 300;
    const DEPTH = 400;
    const GRID = 16; // points per axis
    const GRID_MS = 150; // on a page with very many elements at one place, a hit test takes milliseconds
    const EDITED = 2000; // characters of an editor's text
    const TEXTS = 300; // texts measured: in a long paragraph each takes milliseconds

    const document = root.ownerDocument || root;
    const world = globalThis.waymark ??= install();
    const [op, threshold, budget] = request.split(' ');
    const top = document.body || document.documentElement;
    const answer = (value) => [Object.assign(document.createElement('data'), { textContent: JSON.stringify(value) })];
    if (op === 'left') return answer({ left: world.left });
    if (op === 'silent') {
      world.silent.add(root);
      return answer({ in_view: touches(visiblePart(document.defaultView), root.getBoundingClientRect()) });
    }
    if (op === 'editors') {
      return answer({ texts: Object.fromEntries(editors().map(([reference, el]) => [reference, el.innerText.slice(0, EDITED)])) });
    }
    world.plan = null;
    world.plan = planned(Number(threshold), Number(budget));
    world.naming = true;
    if (op === 'body') queueMicrotask(() => { world.plan = null; world.naming = false; }); // the snapshot is taken in this task
    return [top];

    function install() {
      const world = { plan: null, left: null, naming: false, silent: new Set(), elements: new Map() };
      const wrap = (prototype, name, change) => {
        const property = Object.getOwnPropertyDescriptor(prototype, name);
        const kind = property.get ? 'get' : 'value', native = property[kind];
        property[kind] = function (...given) { return change(Reflect.apply(native, this, given), this, given); };
        Object.defineProperty(prototype, name, property);
      };
      const skip = (node) => (world.plan?.jumps.has(node) ? world.plan.jumps.get(node) : node);
      wrap(Node.prototype, 'firstChild', skip);
      wrap(Node.prototype, 'nextSibling', skip);
      wrap(HTMLSlotElement.prototype, 'assignedNodes',
        (nodes) => (world.plan ? nodes.filter((node) => !world.plan.dropped.has(node)) : nodes));
      wrap(Element.prototype, 'getBoundingClientRect', (box, el) => (box.width && box.height ? box : isArea(el) ? boundsOf(el) : contentBox(el) || box));
      wrap(Element.prototype, 'getClientRects', (rects, el) => (isArea(el) ? areaRects(el) : rects));
      // An area has no style of its own: that of its image says whether it is seen.
      wrap(Element.prototype, 'checkVisibility', (shown, el, given) => (isArea(el) ? imagesOf(el).some((image) => image.checkVisibility(...given)) : shown));
      wrap(globalThis, 'getComputedStyle', (style, _, [el]) => (isArea(el) && imagesOf(el).length ? getComputedStyle(imagesOf(el)[0]) : style));
      wrap(HTMLInputElement.prototype, 'value', (value, field) => (field.type === 'password' ? '*'.repeat(value.length) : value));
      // The active element of a document is the host of a shadow tree in which the focus is; its innermost one is meant.
      const inner = (el) => (el?.shadowRoot?.activeElement ? inner(el.shadowRoot.activeElement) : el);
      wrap(Document.prototype, 'activeElement', inner);
      // The name of a select that its label contains is the label's text without the chosen option.
      const isNamed = (select) => world.naming && select.closest('label')?.control === select;
      wrap(HTMLSelectElement.prototype, 'options', (options, select) => (isNamed(select) ? [] : options));
      wrap(HTMLSelectElement.prototype, 'selectedOptions', (options, select) => (isNamed(select) ? [] : options));
      // Playwright keeps an element's reference in a property. `axtree_element.js` looks elements up by it.
      const references = new WeakMap();
      Object.defineProperty(Element.prototype, '_ariaRef', {
        get() { return references.get(this); },
        set(given) { references.set(this, given); world.elements.set(given.ref, new WeakRef(this)); },
      });
      return world;
    }

    // The editors that are textboxes, with text that is in no element of its own: Playwright leaves that out.
    function editors() {
      const isOwn = (node) => node.nodeType === 3 && node.data.trim();
      return [...world.elements].map(([reference, el]) => [reference, el.deref()]).filter(([, el]) => el?.isConnected && el.isContentEditable
        && el.getAttribute('role')?.trim().toLowerCase() === 'textbox' && [...el.childNodes].some(isOwn));
    }

    // The box of an element that has none itself: with `display: contents`, as a slot has, or around what floats or is positioned.
    function contentBox(el) {
      if (getComputedStyle(el).display !== 'contents') return lacksArea(el) ? around(contentRects(el)) : null;
      const assigned = el.localName === 'slot' ? el.assignedNodes() : [], range = document.createRange();
      const boxes = [...(assigned.length ? assigned : el.childNodes)].map((node) => {
        if (node.nodeType === 1) return node.getBoundingClientRect();
        range.selectNode(node);
        return range.getBoundingClientRect();
      }).filter((box) => box.width || box.height);
      return around(boxes);
    }

    // The smallest box around others; null without one.
    function around(boxes) {
      if (!boxes.length) return null;
      const [x, y] = [Math.min(...boxes.map((box) => box.left)), Math.min(...boxes.map((box) => box.top))];
      return new DOMRect(x, y, Math.max(...boxes.map((box) => box.right)) - x, Math.max(...boxes.map((box) => box.bottom)) - y);
    }

    function isLarge(tree, threshold) {
      let number = 0;
      const trees = [tree];
      while (trees.length) {
        const all = trees.pop().querySelectorAll('*');
        number += all.length;
        if (number >= threshold) return true;
        for (const el of all) if (el.shadowRoot) trees.push(el.shadowRoot);
      }
      return false;
    }

    // The visible part of this document's viewport: left, top, right, bottom.
    function visiblePart(view) {
      const part = [0, 0, view.innerWidth, view.innerHeight];
      const frame = view.frameElement; // null in the top document and in frames of another origin
      if (!frame) return part;
      const { left, top } = frame.getBoundingClientRect(), outer = visiblePart(view.parent);
      const inner = [outer[0] - left, outer[1] - top, outer[2] - left, outer[3] - top];
      return part.map((edge, side) => (side < 2 ? Math.max(edge, inner[side]) : Math.min(edge, inner[side])));
    }

    // Whether a part of a box is in a part of the viewport, or at most a pixel beside it.
    function touches([left, above, right, below], box) {
      return box.left < right + 1 && box.top < below + 1 && box.right > left - 1 && box.bottom > above - 1 && (box.width > 0 || box.height > 0);
    }

    function planned(threshold, budget) {
      const { silent } = world;
      world.silent = new Set();
      world.left = 0;
      if (!silent.size && !isLarge(document, threshold)) return null;
      const view = visiblePart(document.defaultView), [left, above, right, below] = view;
      const range = document.createRange();
      const within = (box) => touches(view, box);
      let measured = 0;
      const textInView = (node) => {
        if (++measured > TEXTS) return true;
        range.selectNode(node);
        return within(range.getBoundingClientRect());
      };
      // On which side of the view a box is; 0 without a box, or in view.
      const sideOf = (box) => (box.width === 0 && box.height === 0 ? 0 : box.top >= below ? 1 : box.bottom <= above ? 2
        : box.left >= right ? 3 : box.right <= left ? 4 : 0);

      // All elements, parents first, each followed by its part of the page.
      const elements = [], parents = [], inView = [], sides = [], deep = [];
      function add(el, parent) {
        const box = el.getBoundingClientRect();
        parents.push(parent);
        sides.push(sideOf(box));
        inView.push(within(box));
        return elements.push(el) - 1;
      }
      function scan(tree, host, depth) {
        const line = [tree], indices = [host]; // the open elements
        for (const el of tree.querySelectorAll('*')) {
          const parent = el.parentNode;
          while (line.at(-1) !== parent) { line.pop(); indices.pop(); }
          const level = depth + line.length, index = level > DEPTH ? -1 : add(el, indices.at(-1));
          if (level === DEPTH) deep.push(el);
          line.push(el);
          indices.push(index);
          if (el.shadowRoot && level < DEPTH) scan(el.shadowRoot, index, level);
        }
      }
      add(top, -1);
      if (top.shadowRoot) scan(top.shadowRoot, 0, 0);
      scan(top, 0, 0);
      const number = elements.length, size = new Uint32Array(number);
      for (let i = number - 1; i > 0; i--) size[parents[i]] += size[i] + 1;

      // What is kept: in view and within the budget, then all around it.
      const kept = new Uint8Array(number);
      const seen = inView.reduce((sum, is) => sum + is, 0);
      if (seen <= budget) {
        for (let i = 0; i < number; i++) kept[i] = inView[i];
      } else {
        const onTop = new Set();
        const late = performance.now() + GRID_MS;
        for (let number = 0; number < GRID; number++) {
          const row = (number * 7) % GRID; // if the time ends, the points are spread over the view
          for (let column = 0; column < GRID && performance.now() < late; column++) {
            let tree = document, hit = null;
            while (tree) {
              const inner = tree.elementFromPoint(left + (column + 0.5) / GRID * (right - left), above + (row + 0.5) / GRID * (below - above));
              if (!inner || inner === hit) break;
              hit = inner;
              tree = hit.shadowRoot;
            }
            onTop.add(hit);
          }
        }
        let free = budget;
        for (let i = 0; i < number; i++) if (inView[i] && onTop.has(elements[i])) { kept[i] = 1; free--; }
        for (let i = 0; i < number && free > 0; i++) if (inView[i] && !kept[i]) { kept[i] = 1; free--; }
      }
      for (let i = 0; i < number; i++) {
        if (!kept[i]) continue;
        const whole = elements[i].localName === 'select' ? Math.min(size[i], OPTIONS) : size[i] <= SMALL ? size[i] : 0;
        if (seen <= budget || elements[i].localName === 'select') kept.fill(1, i + 1, i + 1 + whole);
      }
      for (let i = number - 1; i > 0; i--) if (kept[i]) kept[parents[i]] = 1;
      for (let i = 0; i < number; i++) {
        if (inView[i] && !kept[i]) world.left++;
        if (silent.has(elements[i])) kept[i] = 0;
      }

      // What is passed over, with the text in between that is not in view.
      const dropped = new Map(), jumps = new Map(); // an element and its side; the first of a row of them and what follows
      for (let i = 1; i < number; i++) if (!kept[i] && kept[parents[i]]) dropped.set(elements[i], sides[i]);
      const isOut = (node) => {
        if (node.nodeType === 1) return dropped.has(node);
        if (node.nodeType !== 3 || !node.data.trim()) return true;
        const side = dropped.get(node.previousSibling);
        return side && side === dropped.get(node.nextSibling) || !textInView(node);
      };
      const passed = new Set();
      for (const el of dropped.keys()) {
        if (passed.has(el)) continue;
        let node = el;
        while (node && isOut(node)) {
          passed.add(node);
          node = node.nextSibling;
        }
        jumps.set(el, node);
      }
      for (const el of deep) if (el.firstChild) jumps.set(el.firstChild, null);
      return { dropped, jumps };
    }
  },
})
