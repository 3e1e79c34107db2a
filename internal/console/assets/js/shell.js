// What every page has: the stream of events, the number of questions that wait, the theme, a link for another browser.

import {$, h, toast} from './dom.js';
import {get, post, Stream} from './api.js';

// stream is the page's one stream of events. A page adds its handlers and starts it.
export const stream = new Stream();

const title = document.body.dataset.title;
let known = null; // the questions that were there when we looked last

// pending shows how many questions wait, in the navigation and in the tab's title.
function pending(list) {
  const count = $('#pending');
  count.textContent = list.length;
  count.hidden = list.length === 0;
  count.setAttribute('aria-label', list.length + ' waiting');
  document.title = (list.length ? '(' + list.length + ') ' : '') + title + ' · Tongs';
  if (known) for (const q of list) if (!known.has(q.id)) announce(q);
  known = new Set(list.map(q => q.id));
}

// announce tells of a new question, on the desktop where that is allowed.
function announce(q) {
  if (document.visibilityState !== 'visible' && 'Notification' in window && Notification.permission === 'granted') {
    const note = new Notification('Tongs: ' + q.what, {body: q.where ?? '', tag: q.id});
    note.onclick = () => {
      window.focus();
      location.href = '/approvals#' + q.id;
    };
  }
  if (document.body.dataset.page !== 'approvals') {
    toast(h('a', {href: '/approvals#' + q.id}, q.title + ' waits for your answer'), 'ask');
  }
}

stream.on('questions', news => pending(news.pending));
stream.on('state', up => {
  const el = $('#connection');
  el.classList.toggle('up', up);
  el.lastElementChild.textContent = up ? 'live' : 'reconnecting';
});

const themes = ['', 'light', 'dark'];
$('#theme').addEventListener('click', () => {
  const next = themes[(themes.indexOf(localStorage.getItem('tongs-theme') ?? '') + 1) % themes.length];
  if (next) {
    localStorage.setItem('tongs-theme', next);
    document.documentElement.dataset.theme = next;
  } else {
    localStorage.removeItem('tongs-theme');
    delete document.documentElement.dataset.theme;
  }
  toast('Theme: ' + (next || 'as the system says'));
});

$('#device').addEventListener('click', async () => {
  try {
    const link = await post('/api/links');
    const url = location.origin + link.path;
    const box = h('dialog', {class: 'sheet', 'aria-label': 'Log in another browser'},
      h('h2', {}, 'Log in another browser'),
      h('p', {}, 'Open this link there. It works once, for ten minutes. Whoever opens it can approve calls.'),
      h('input', {readonly: true, value: url, 'aria-label': 'Link', onfocus: e => e.target.select()}),
      h('form', {method: 'dialog', class: 'actions'},
        h('button', {type: 'button', onclick: () => navigator.clipboard.writeText(url).then(() => toast('Copied'))}, 'Copy'),
        h('button', {class: 'quiet'}, 'Close')));
    box.addEventListener('close', () => box.remove());
    document.body.append(box);
    box.showModal();
  } catch (error) {
    toast(error.message, 'bad');
  }
});

// about is what the server says of itself.
export const about = () => get('/api/about');
