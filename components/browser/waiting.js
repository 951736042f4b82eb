// Waits until the page is quiet. It needs page_changes.js.
//
// A page is quiet when nothing visible changed since the mark, or for two frames, no finite animation runs, and nothing
// changed for `still` milliseconds, because some pages react only after a pause in the typing or after a timer. With
// `still` 0, a page without changes costs one task, not a frame. Otherwise, the pause is longer while there is a reason to
// expect more: after a response, a change of the address or typed text to which the page has not reacted yet, after a
// click on a control or the answer to a dialog that has had no effect yet, and after a script that a loaded page asked for: React shows a part whose
// code came late at least 300 ms after the sign that it loads. A page that shows that it loads (`loading`) is not quiet.
// Time in which the page was too busy to run our timer does not count.

const RESPONSE = 1.5, REACTION = 1.6, SCRIPT = 1.8; // pauses, in multiples of `still`
const REPORTED_MS = 100; // a response is reported at most so much later than the page has it
const DELIVERY_MS = 25; // and so much later if the page does not tell, as of a request of another document
const TICK_MS = 50;
const LATE_MS = 30;
const LOADING = '[aria-busy="true"], progress:not([value]), [role="progressbar"]:not([aria-valuenow]):not([aria-valuetext])';
const LOADING_NAMES = ['skeleton', 'shimmer', 'spinner', 'loading', 'loader', 'placeholder-glow', 'placeholder-wave']
  .map((name) => `[class*="${name}" i]`).join(', ');

const frame = () => new Promise((resolve) => { requestAnimationFrame(resolve); setTimeout(resolve, 100); });
const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function quiet(state, { changes, settle, still, answered, waited, thawed }) {
  const now = performance.now(), began = now - waited, end = now + settle;
  const reported = answered === null ? null : now - answered;
  const confirmed = thawed === null ? 0 : now - thawed; // when a dialog of the page was answered
  const channel = new MessageChannel();
  await new Promise((resolve) => { channel.port1.onmessage = resolve; channel.port2.postMessage(0); });
  channel.port1.close();
  if (state.wheel) await scrollEnd(state, end);
  let seen = changes ?? state.changes, late = 0;
  while (performance.now() < end) {
    if (state.changes !== seen || animations(state).some((animation) => !isEndless(animation))) {
      seen = state.changes;
      await frame();
      await frame();
      continue;
    }
    const due = still ? dueTime(state, { began, response: responseTime(state, reported), confirmed }, still) + late : 0;
    const left = Math.min(due, end) - performance.now();
    if (left > 0) {
      const [from, pause] = [performance.now(), Math.min(left, TICK_MS)];
      await sleep(pause);
      late += Math.max(0, performance.now() - from - pause - LATE_MS);
      continue;
    }
    if (!still) break;
    if (watchRoots(state)) noteChange(state);
    else if (loading(state) || performance.now() - (state.scrolled || 0) < 2 * TICK_MS) await sleep(TICK_MS);
    else break;
  }
}

// When the page had the response that was reported at a time, 0 without one. A report alone does not tell whether the page
// changed before the response or after it.
function responseTime(state, reported) {
  if (reported === null) return 0;
  const ends = state.responses.filter((end) => end <= reported && end > reported - REPORTED_MS);
  return ends.length ? Math.max(...ends) : reported - DELIVERY_MS;
}

// When the page is quiet if nothing happens before.
function dueTime(state, { began, response, confirmed }, still) {
  const last = Math.max(began, state.changed);
  let due = last + still;
  if (response > state.changed) due = Math.max(due, response + RESPONSE * still);
  if (state.scripted > began) due = Math.max(due, state.scripted + SCRIPT * still);
  if (state.moved > state.changed) due = Math.max(due, state.moved + RESPONSE * still);
  const acted = Math.max(state.typed, state.clicked, confirmed);
  if (acted > Math.max(state.outside, state.moved, response)) due = Math.max(due, acted + REACTION * still);
  return due;
}

// Frames until no watched position has moved for three of them.
async function scrollEnd(state, end) {
  let [same, last] = [0, ''];
  while (same < 3 && performance.now() < end) {
    await frame();
    const now = state.wheel.places.map(([el]) => `${el.scrollLeft},${el.scrollTop}`).join(' ');
    same = now === last ? same + 1 : 0;
    last = now;
  }
}

// Whether something in view shows that the page loads, and did not at the mark.
function loading(state) {
  const known = state.before?.loading;
  return loadingSigns(state).some((el) => !known?.has(el)) || document.fonts.status === 'loading';
}

function loadingSigns(state) {
  const roots = [...state.roots];
  const named = roots.flatMap((root) => [...root.querySelectorAll(LOADING_NAMES)])
    .filter((el) => !clean(el.textContent) || el.getAnimations({ subtree: true }).some(isEndless));
  const images = roots.flatMap((root) => [...root.querySelectorAll('img')]).filter((el) => !el.complete && el.src);
  const signs = [...roots.flatMap((root) => [...root.querySelectorAll(LOADING)]), ...named, ...images];
  return signs.filter((el) => isShown(el) && inView(el));
}
