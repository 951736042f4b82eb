// The clipboard of one episode. Chromium's own clipboard is one for all contexts of a browser, so nothing is ever written
// to it: this script runs in our isolated world before the page's scripts, cancels every trusted copy, cut and paste
// event, and repeats it with data of its own. `waymarkCopied` holds what was copied until the harness takes it;
// `waymarkPaste` holds what the next paste inserts, which the harness sets before it presses the keys.

(() => {
  if (globalThis.waymarkPaste !== undefined) return;
  globalThis.waymarkPaste = {};

  const keep = (data) => { if (Object.values(data).some(Boolean)) globalThis.waymarkCopied = data; };

  function selected(el) {
    if (el?.matches?.('input, textarea')) {
      if (el.type === 'password') return {};
      // A field for an email address or a number does not tell its selection; the document's selection has its text.
      const text = el.selectionStart === null ? getSelection().toString() : el.value.slice(el.selectionStart, el.selectionEnd);
      return { 'text/plain': text };
    }
    const selection = getSelection();
    const box = document.createElement('div');
    for (let i = 0; i < selection.rangeCount; i += 1) box.append(selection.getRangeAt(i).cloneContents());
    return { 'text/plain': selection.toString(), 'text/html': selection.isCollapsed ? '' : box.innerHTML };
  }

  // A script may have caused the event by execCommand, inside of which no other command runs.
  const edit = (...command) => { document.execCommand(...command) || queueMicrotask(() => document.execCommand(...command)); };

  function repeat(event) {
    if (!event.isTrusted) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const target = event.composedPath()[0], data = new DataTransfer(), paste = event.type === 'paste';
    const pasted = globalThis.waymarkPaste;
    if (paste) for (const [type, text] of Object.entries(pasted)) data.setData(type, text);
    globalThis.waymarkPaste = {};
    const repeated = new ClipboardEvent(event.type, { bubbles: true, cancelable: true, composed: true, clipboardData: data });
    const handled = !target.dispatchEvent(repeated);
    if (paste) {
      if (handled || !data.types.length) return;
      const rich = pasted['text/html'] && target.isContentEditable && !target.matches?.('input, textarea');
      if (rich) edit('insertHTML', false, pasted['text/html']);
      else edit('insertText', false, pasted['text/plain'] || '');
      return;
    }
    const el = target.nodeType === 1 ? target : target.parentElement;
    keep(handled ? Object.fromEntries(data.types.map((type) => [type, data.getData(type)])) : selected(el));
    if (event.type === 'cut' && !handled && (el?.isContentEditable || el?.matches?.('input, textarea'))) edit('delete');
  }

  for (const type of ['copy', 'cut', 'paste']) addEventListener(type, repeat, true);
  addEventListener('waymark:copied', ({ detail }) => keep(JSON.parse(detail)), true);
})();
