// Where to click an element: hit tests, which see what covers what. It needs composed.js, controls.js and survey.js.

const HITS_MS = 100; // on a large page, where one hit test takes milliseconds
const LEAST_HITS = 40;
const FIELDS = 'input, textarea, [contenteditable]:not([contenteditable="false"])';
const OTHER_FIELDS = 'input, textarea, select, [contenteditable]:not([contenteditable="false"]), label';

// The largest part of an element in view, as [left, top, right, bottom].
function partInView(el) {
  let best = null, area = 0;
  for (const box of rectsOf(el)) {
    const size = Math.max(0, box[2] - box[0]) * Math.max(0, box[3] - box[1]);
    if (size > area) [best, area] = [box, size];
  }
  return area >= 1 ? best : null;
}

// The nearest element around drawn text that has fields in it: the text is of one of these, and of no field further away.
function fieldsAround(surface) {
  for (let around = surface; around; around = parentOf(around)) if (around.querySelector(FIELDS)) return around;
  return null;
}

const centreOf = ([left, top, right, bottom]) => [(left + right) / 2, (top + bottom) / 2];

// Hit tests, in a limited time on large pages. After it a point counts as hit unless something known covers it.
class HitTests {
  constructor(survey) {
    this.survey = survey;
    this.count = 0;
    this.end = Infinity;
    this.covers = new Set();
    this.surfaces = new Set();
    if (!survey.isLarge) return;
    this.end = performance.now() + HITS_MS;
    for (const x of [0.02, 0.5, 0.98]) {
      for (const y of [0.02, 0.25, 0.5, 0.75, 0.98]) this.noteOverlay(this.at([x * innerWidth, y * innerHeight]));
    }
  }

  get isOver() {
    return this.count > LEAST_HITS && performance.now() > this.end;
  }

  at(point) {
    this.count += 1;
    const el = elementAt(...point);
    if (this.survey.isLarge) this.survey.readMet(el);
    return el;
  }

  noteOverlay(el) {
    let overlay = null;
    for (let node = el; node; node = parentOf(node)) if (/fixed|absolute|sticky/.test(getComputedStyle(node).position)) overlay = node;
    if (overlay) this.covers.add(overlay);
  }

  // The point to click: the centre of the part in view; if another element covers it, the visible point of a 7 × 7 grid
  // nearest to the mean of all visible points. Null if no point of the element can be hit.
  pointOf(el, isHit) {
    const box = partInView(el);
    if (!box) return null;
    const centre = centreOf(box);
    if (this.isOver) return this.presumed(el, centre);
    const met = this.at(centre);
    if (isHit(met)) return centre;
    if (met) this.covers.add(met);
    const inside = isArea(el) ? [...rectsOf(el)].map(centreOf) : [];
    const hits = [...inside, ...this.grid(box)].filter((point) => !this.isOver && isHit(this.at(point)));
    if (!hits.length) return null;
    const middle = [0, 1].map((axis) => hits.reduce((sum, point) => sum + point[axis], 0) / hits.length);
    const away = (point) => (point[0] - middle[0]) ** 2 + (point[1] - middle[1]) ** 2;
    return hits.reduce((best, point) => (away(point) < away(best) ? point : best));
  }

  grid([left, top, right, bottom]) {
    const [insetX, insetY] = [Math.min(1, (right - left) / 4), Math.min(1, (bottom - top) / 4)];
    const steps = [0, 1, 2, 3, 4, 5, 6];
    return steps.flatMap((i) => steps.map((j) => [left + insetX + (right - left - 2 * insetX) * i / 6,
      top + insetY + (bottom - top - 2 * insetY) * j / 6]));
  }

  presumed(el, point) {
    const holds = (box) => box && box.left <= point[0] && point[0] <= box.right && box.top <= point[1] && point[1] <= box.bottom;
    if ([...this.covers].some((cover) => !within(cover, el) && !within(el, cover) && holds(placeIn(cover)))) return null;
    for (let node = parentOf(el); node; node = parentOf(node)) {
      if (node !== node.ownerDocument.body && getComputedStyle(node).overflow !== 'visible' && !holds(placeIn(node))) return null;
    }
    return point;
  }

  // Where to click a control in another one: only at a point of its own.
  ownPlaceOf(el) {
    const point = isVisible(el) && this.pointOf(el, (other) => other && within(other, el));
    return point ? { point } : null;
  }

  // Where to click an element: { point }, or null. An editor that draws its own text has a `surface` in place of its field.
  // The controls in `inner` have lines of their own.
  placeOf(el, role, inner = []) {
    const through = getComputedStyle(el).pointerEvents === 'none';
    const isHit = (other) => other && (within(other, el) || through && within(el, other)) && !inner.some((part) => within(other, part));
    const own = isVisible(el) && this.pointOf(el, isHit);
    if (own) return { point: own };
    if (role === 'field' && el.type !== 'file') return this.surfaceOf(el);
    const isDrawnByLabel = role === 'select' && el.tagName === 'INPUT'; // its own box is a pixel that takes the keys
    if (!/^(checkbox|radio)$/.test(role) && !/^(range|file)$/.test(el.type) && !isDrawnByLabel) return null;
    return this.styledPlaceOf(el, role, isHit);
  }

  // A styled control: the input is transparent or hidden; its label, or what is drawn under it, is not.
  styledPlaceOf(el, role, isHit) {
    const label = labelsOf(el).find(isVisible);
    let point = label && this.pointOf(label, (other) => other && within(other, label));
    if (!point && /^(checkbox|radio|range|file)$/.test(el.type) && el.checkVisibility({ checkVisibilityCSS: true })) {
      point = this.pointOf(el, isHit);
      const around = parentOf(el);
      if (!point && around && getComputedStyle(around).cursor === 'pointer') point = this.pointOf(around, (other) => other && within(other, around));
    }
    if (!point && el.type === 'range') point = this.pointAround(el);
    return point ? { point } : null;
  }

  // React's sliders keep their input in a box of one pixel. What a person drags is drawn around it, without another control.
  pointAround(el) {
    for (let around = parentOf(el), depth = 0; around && depth < 3; around = parentOf(around), depth++) {
      if (around.querySelectorAll(INNER).length > 1) return null;
      const { width, height } = around.getBoundingClientRect();
      if (Math.min(width, height) >= 8) return this.pointOf(around, (other) => other && within(other, around));
    }
    return null;
  }

  // CodeMirror and Monaco draw their text, and take their keys in a field that people do not see. Where they are clicked, the
  // cursor is that of text.
  surfaceOf(el) {
    if (el.disabled || !el.checkVisibility({ checkVisibilityCSS: true })) return null;
    for (let around = parentOf(el), depth = 0; around && depth < 4; around = parentOf(around), depth++) {
      const box = partInView(around);
      if (!box || box[2] - box[0] < 60 || box[3] - box[1] < 12) continue;
      const isText = (other) => other && other !== around && within(other, around) && getComputedStyle(other).cursor === 'text';
      const point = this.pointOf(around, isText); // a short text leaves most of its editor without a text cursor
      let surface = point && this.at(point);
      if (!isText(surface)) continue;
      if (surface.closest(OTHER_FIELDS) || this.surfaces.has(around) || !within(el, fieldsAround(surface))) return null;
      for (let node = surface; node !== around && getComputedStyle(node).cursor === 'text'; node = parentOf(node)) surface = node;
      this.surfaces.add(around);
      return { point, surface };
    }
    return null;
  }
}
