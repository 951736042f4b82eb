// The areas of image maps. An <area> has no box of its own: each image that uses its map draws it. It needs no other file,
// because the element list and the accessibility tree (axtree_view.js) both use it.

const MAX_EARS = 20;

let mappedImages = new Map(); // by root, then by the name of the map; the DOM does not change while a script of ours runs

const isArea = (el) => el.localName === 'area';

const mapName = (image) => image.getAttribute('usemap').replace(/^[^#]*#/, '');

// The images that draw an area.
function imagesOf(area) {
  const root = area.getRootNode(), map = area.closest('map');
  if (!map || !root.querySelectorAll) return [];
  if (!mappedImages.size) queueMicrotask(() => { mappedImages = new Map(); });
  if (!mappedImages.has(root)) mappedImages.set(root, Map.groupBy(root.querySelectorAll('img[usemap]'), mapName));
  return mappedImages.get(root).get(map.name) || [];
}

// The areas that an image draws.
function areasIn(image) {
  const name = mapName(image), maps = [...image.getRootNode().querySelectorAll('map')];
  return maps.filter((map) => map.name === name).flatMap((map) => [...map.querySelectorAll('area')]);
}

// What a person sees of an element: the images of an area, else the element itself.
const drawnAs = (el) => (isArea(el) ? imagesOf(el) : [el]);

// The client rectangles of an area in each of its images: the bounding box of its shape, and then small squares that are
// within a polygon, because the middle of its box need not be. Chromium counts coordinates from the border of the image, in
// CSS pixels that only transforms and zoom scale.
function areaRects(area) {
  const shape = shapeOf(area);
  return imagesOf(area).flatMap((image) => {
    const box = image.getBoundingClientRect();
    if (!shape || !box.width || !box.height) return [];
    const [scaleX, scaleY] = [box.width / (image.offsetWidth || box.width), box.height / (image.offsetHeight || box.height)];
    return shape.map(([left, top, right, bottom]) => {
      const [from, to] = [[box.left + left * scaleX, box.top + top * scaleY], [box.left + right * scaleX, box.top + bottom * scaleY]];
      const [x, y] = [Math.max(from[0], box.left), Math.max(from[1], box.top)];
      return new DOMRect(x, y, Math.max(0, Math.min(to[0], box.right) - x), Math.max(0, Math.min(to[1], box.bottom) - y));
    }).filter((rect) => rect.width > 0 && rect.height > 0);
  });
}

// The boxes of a shape as [left, top, right, bottom]; null without a shape.
function shapeOf(area) {
  const shape = (area.getAttribute('shape') || '').toLowerCase();
  if (shape === 'default') return [[0, 0, Infinity, Infinity]];
  const numbers = (area.getAttribute('coords') || '').split(/[\s,;]+/).filter(Boolean).map((word) => parseFloat(word) || 0);
  if (shape.startsWith('circ')) {
    const [x, y, radius] = numbers;
    return radius > 0 ? [[x - radius, y - radius, x + radius, y + radius]] : null;
  }
  if (!shape.startsWith('poly')) {
    const [left, top, right, bottom] = numbers;
    return numbers.length >= 4 ? [[Math.min(left, right), Math.min(top, bottom), Math.max(left, right), Math.max(top, bottom)]] : null;
  }
  const corners = Array.from({ length: numbers.length >> 1 }, (_, index) => numbers.slice(2 * index, 2 * index + 2));
  if (corners.length < 3) return null;
  const [xs, ys] = [corners.map(([x]) => x), corners.map(([, y]) => y)];
  const ears = corners.slice(0, MAX_EARS).map((corner, index) => {
    const three = [corner, corners[(index + 1) % corners.length], corners[(index + 2) % corners.length]];
    return [0, 1].map((axis) => three.reduce((sum, point) => sum + point[axis], 0) / 3);
  });
  return [[Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)], ...ears.map(([x, y]) => [x - 1, y - 1, x + 1, y + 1])];
}

// The box of an element: of an area, that in the first of its images.
function boundsOf(el) {
  return isArea(el) ? areaRects(el)[0] || new DOMRect() : el.getBoundingClientRect();
}
