// The part of clipboard.js that must run in the page's own world: `navigator.clipboard.write` and `writeText` give to the
// episode's clipboard instead of to Chromium's, which all contexts share.

(() => {
  const { Clipboard, CustomEvent, JSON, Object, Promise, Proxy, String } = window;
  if (!Clipboard) return; // no secure context
  const dispatch = window.dispatchEvent.bind(window);
  const send = (data) => { dispatch(new CustomEvent('waymark:copied', { detail: JSON.stringify(data) })); };
  async function texts([item]) {
    const kept = {};
    for (const type of item.types) if (type.startsWith('text/')) kept[type] = await (await item.getType(type)).text();
    send(kept);
  }
  for (const [name, write] of [['writeText', (text) => send({ 'text/plain': String(text) })], ['write', texts]]) {
    Object.defineProperty(Clipboard.prototype, name, {
      value: new Proxy(Clipboard.prototype[name], { apply: async (native, self, [content]) => write(content) }),
      writable: true, enumerable: true, configurable: true,
    });
  }
})();
