/** What every page needs: requests, what is shown, where to go. */

export const byId = (id) => document.getElementById(id);

/** Answers the status and the body. A refusal is an answer, too; one that never came has status 0. */
export async function call(method, path, body) {
  try {
    const answer = await fetch(path, {
      method,
      headers: { accept: 'application/json', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { ok: answer.ok, status: answer.status, body: text === '' ? {} : JSON.parse(text) };
  } catch {
    return { ok: false, status: 0, body: { message: 'The control plane does not answer. Is it running?' } };
  }
}

/** Shows one of the parts of a page and hides the others. */
export function showPart(id) {
  for (const part of document.querySelectorAll('[data-part]')) part.hidden = part.id !== id;
  const heading = byId(id).querySelector('h1');
  if (!heading) return;
  heading.tabIndex = -1;
  heading.focus();
}

/** A sentence in the place for it; an empty one takes it away. */
export function say(id, text, kind = 'bad') {
  const place = byId(id);
  place.className = `note ${kind}`;
  place.textContent = text;
  place.hidden = text === '';
}

/** Hands over the fields of a form; while that lasts it cannot be sent again. What it resolves to is shown as a problem. */
export function onSubmit(id, send) {
  const form = byId(id);
  // Until here it would have been sent as a form, to nowhere.
  for (const button of form.querySelectorAll('button')) button.disabled = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const { submitter } = event;
    const buttons = form.querySelectorAll('button');
    const problem = form.querySelector('[role=alert]');
    problem.textContent = '';
    problem.hidden = true;
    for (const button of buttons) button.disabled = true;
    const fields = Object.fromEntries(new FormData(form));
    const text = await send(fields, submitter);
    for (const button of buttons) button.disabled = false;
    if (!text) return;
    problem.className = 'note bad';
    problem.textContent = text;
    problem.hidden = false;
    form.querySelector('input:not([readonly])')?.focus();
  });
}

/** A path of ours from `?next=`, and nothing else: it may have been written by anybody. */
export function nextPath() {
  const next = new URLSearchParams(location.search).get('next') ?? '/';
  if (!/^\/(?![/\\])/.test(next) || !URL.canParse(next, location.origin)) return '/';
  const url = new URL(next, location.origin);
  return url.origin === location.origin ? url.pathname + url.search + url.hash : '/';
}

/** To sign in, and back to this page. */
export function goToLogin(page = '/login') {
  const here = location.pathname + location.search + location.hash;
  location.replace(here === '/' ? page : `${page}?next=${encodeURIComponent(here)}`);
}

/** Links between the pages of a sign-in keep where it leads. */
export function keepNext() {
  for (const link of document.querySelectorAll('a[data-keep-next]')) link.search = location.search;
}

export function element(name, text, members = {}) {
  return Object.assign(document.createElement(name), { textContent: text, ...members });
}

/** Fills a list of terms. */
export function fillTerms(id, rows) {
  byId(id).replaceChildren(
    ...rows.flatMap(([term, value]) => {
      const place = element('dd', '');
      place.append(value);
      return [element('dt', term), place];
    }),
  );
}

export function formatTime(text) {
  return new Date(text).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
}
