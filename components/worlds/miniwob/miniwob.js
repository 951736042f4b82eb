// Served with every MiniWoB++ page: starts the episode whose seed is in the cookie as soon as the page has loaded, keeps
// the page's own reward display, click canvas and START cover out of sight, keeps the text cursor from blinking, because
// a screenshot must not depend on when it is taken, and remembers the first ending of the episode
// in localStorage, under the episode's token, so that neither a reload nor a second tab gives a second try. Only the
// page of the task's own family ends its episode: an easier page pays nothing.
(() => {
  const style = document.createElement('style');
  style.textContent = '#reward-display, #click-canvas, #attention-canvas, #sync-task-cover { display: none !important; }'
    + ':root { caret-animation: manual; }';
  document.documentElement.append(style);

  const cookie = Object.fromEntries(document.cookie.split('; ').map((part) => part.split('=')));
  const [seed, token, family] = (cookie.waymark || '').split('.');
  const key = `waymark.${token}`;
  const waymark = { error: 'the page has not loaded yet' };
  Object.defineProperty(window, 'WAYMARK', { value: waymark });

  waymark.begin = (number) => {
    Math.seedrandom(number);
    core.EPISODE_MAX_TIME = 1e9;
    core.startEpisodeReal();
    clearInterval(core.CD_TIMER); // the countdown is never seen
  };

  waymark.utterance = () => {
    const said = core.getUtterance();
    return typeof said === 'string' ? said : said.utterance;
  };

  waymark.reward = () => JSON.parse(localStorage.getItem(key) || '{"reward": 0}').reward;

  waymark.ended = () => localStorage.getItem(key) !== null;

  waymark.collect = (seeds) => seeds.map((number) => {
    try {
      waymark.begin(number);
      return { utterance: waymark.utterance() };
    } catch (error) {
      return { error: String(error) };
    }
  });

  function remember() {
    const end = core.endEpisode;
    core.endEpisode = (...rest) => {
      end(...rest);
      if (WOB_DONE_GLOBAL && !localStorage.getItem(key)) localStorage.setItem(key, JSON.stringify({ reward: WOB_RAW_REWARD_GLOBAL }));
    };
  }

  function restore() {
    const ended = localStorage.getItem(key);
    if (!ended) return;
    clearTimeout(core.EP_TIMER);
    core.EP_TIMER = null; // the page rewards nothing without its timer
    WOB_RAW_REWARD_GLOBAL = JSON.parse(ended).reward;
    WOB_DONE_GLOBAL = true;
  }

  // The page starts itself in window.onload; a listener added after parsing runs behind that.
  document.addEventListener('DOMContentLoaded', () => window.addEventListener('load', () => {
    try {
      if (!token) throw new Error('the episode cookie is missing');
      if (location.pathname === `/${family}.html`) remember();
      waymark.begin(Number(seed));
      restore();
      waymark.error = null;
    } catch (error) {
      waymark.error = String(error);
    }
  }));
})();
