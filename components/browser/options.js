// The options of a <select>: what they are called, and which of them a text means.

const MAX_NEAR = 10;
const LISTED_AS_WHOLE = 200; // characters of names that are listed together

const labelOf = (option) => (option.label || '').replace(/\u200b/g, '').replace(/\s+/g, ' ').trim();
const groupOf = (option) => (option.parentElement?.localName === 'optgroup' ? option.parentElement.label.replace(/\s+/g, ' ').trim() : '');

// The names of options: their labels, with the group where another group has an option of the same label.
function namesOf(options) {
  const groups = new Map();
  for (const option of options) groups.set(labelOf(option), (groups.get(labelOf(option)) || new Set()).add(groupOf(option)));
  return options.map((option) => (groups.get(labelOf(option)).size > 1 && groupOf(option) ? `${groupOf(option)}: ${labelOf(option)}` : labelOf(option)));
}

// The options that a text means by their label, their name or their value. Several only if they are in different groups.
function optionsNamed(options, text) {
  const wanted = labelOf({ label: text }), names = namesOf(options), lower = (name) => name.toLowerCase() === wanted.toLowerCase();
  const rules = [(option) => labelOf(option) === wanted, (option) => lower(labelOf(option)), (_, index) => lower(names[index]),
    ({ value }) => value === wanted];
  const meant = rules.map((rule) => options.filter(rule)).find((list) => list.length) || [];
  return new Set(meant.map(groupOf)).size > 1 ? meant : meant.slice(0, 1);
}

// The names to list when a text means no option, or several: all if they are short, or else those that contain its
// words, or else those with the nearest spelling.
function namesNear(options, text) {
  const names = namesOf(options), meant = optionsNamed(options, text);
  if (meant.length > 1) return meant.map((option) => names[options.indexOf(option)]).slice(0, MAX_NEAR);
  if (names.join('", "').length <= LISTED_AS_WHOLE) return names;
  const words = plain(text).split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const containing = names.filter((name) => words.length && words.every((word) => plain(name).includes(word)));
  if (containing.length) return containing.slice(0, MAX_NEAR);
  const likeness = new Map(names.map((name) => [name, similarity(plain(name), plain(text))]));
  return [...names].sort((one, other) => likeness.get(other) - likeness.get(one)).slice(0, MAX_NEAR);
}

// Without capitals and accents.
const plain = (text) => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

// The share of pairs of characters that two texts have in common (Dice's coefficient).
function similarity(one, other) {
  const pairs = (text) => new Set([...text].slice(1).map((character, index) => text[index] + character));
  const [left, right] = [pairs(one), pairs(other)];
  return 2 * [...left].filter((pair) => right.has(pair)).length / (left.size + right.size || 1);
}
