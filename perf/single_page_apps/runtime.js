// What the five applications share. Delays come from a seeded generator, so that two visits have the same ones. `app.work`
// counts what is under way; the harness does not know it, only the measurement does.

const app = { pending: 0 };
let seed = 7;
const between = (least, most) => {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return Math.round(least + (most - least) * seed / 2147483648);
};
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
const api = async (path, least = 60, most = 300) => (await fetch(`/api/${path}${path.includes('?') ? '&' : '?'}ms=${between(least, most)}`)).json();
const $ = (selector) => document.querySelector(selector);

app.work = async (task) => {
  app.pending += 1;
  try { await task(); } finally { app.pending -= 1; }
};

// Like the schedulers of React and Vue: rendering is a task of its own.
const render = (target, html) => new Promise((resolve) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => { $(target).innerHTML = html; resolve(); };
  port2.postMessage(0);
});
const rows = (items, after = '') => `<ul>${items.map((item) => `<li><a href="#">${item}</a> <button>${after || 'open'} ${item}</button></li>`).join('')}</ul>`;

// Links with data-to and buttons with data-do call the functions of these names.
const routes = {}, commands = {};
addEventListener('click', (event) => {
  const link = event.target.closest('[data-to]'), button = event.target.closest('[data-do]');
  if (link || event.target.closest('a')) event.preventDefault();
  if (link) {
    history.pushState({}, '', `?${link.dataset.to}`);
    app.work(() => routes[link.dataset.to]?.() ?? routes.other(link.dataset.to));
  } else if (button) app.work(() => commands[button.dataset.do](button));
});
