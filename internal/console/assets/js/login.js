// Takes the token behind the # of the link to the server, once, and goes on to the console.

import {storeKey, storedKey} from './api.js';

const status = document.getElementById('status');
const form = document.getElementById('login');

async function login(token) {
  status.textContent = 'Logging in';
  const response = await fetch('/login', {
    method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({token}), credentials: 'same-origin',
  });
  const body = await response.json().catch(() => undefined);
  if (!response.ok) {
    status.textContent = body?.error?.message ?? 'the server answered with status ' + response.status;
    form.hidden = false;
    return;
  }
  storeKey(body.key);
  location.replace(body.next);
}

// already reports whether this browser is logged in: a link from another page brings no cookie with it.
async function already() {
  if (!storedKey()) return false;
  const response = await fetch('/api/about', {headers: {'X-Tongs-Key': storedKey()}, credentials: 'same-origin'});
  return response.ok;
}

form.addEventListener('submit', event => {
  event.preventDefault();
  const text = new FormData(form).get('token').trim();
  login(text.slice(text.indexOf('#') + 1));
});

const token = location.hash.slice(1);
history.replaceState(null, '', '/login');
if (token) login(token);
else if (await already()) location.replace('/');
else {
  status.textContent = 'Open the link that tongs serve printed, or paste it here.';
  form.hidden = false;
}
