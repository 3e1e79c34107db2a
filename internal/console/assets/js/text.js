// Text of others, made visible: control characters and marks that change the direction of writing are shown, not obeyed.

const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/gu;

// seen returns the text with each of them by its name: a program, a path or an argument looks like what it is.
export function seen(text) {
  return String(text ?? '').replace(unseen, c => {
    const code = c.codePointAt(0);
    return code < 32 ? String.fromCodePoint(0x2400 + code) : '\u27e8U+' + code.toString(16).toUpperCase().padStart(4, '0') + '\u27e9';
  });
}

// pretty writes a value as JSON that people read.
export const pretty = value => seen(JSON.stringify(value, null, 2));

// brief is a value in one line.
export function brief(value, max = 120) {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return seen(text.length > max ? text.slice(0, max) + '…' : text).replaceAll('\n', '⏎');
}
