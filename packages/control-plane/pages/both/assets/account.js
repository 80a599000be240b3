import { byId, call, element, formatTime, goToLogin, onSubmit, say } from './common.js';

const me = await call('GET', '/api/v1/me');
if (me.ok) await show(me.body);
else goToLogin();

async function show({ user, organization }) {
  byId('page').hidden = false;
  byId('who').textContent = `${user.name}, ${user.email}`;
  onSubmit('others', async () => {
    const { ok, body } = await call('DELETE', '/api/v1/sessions');
    if (ok) await showRest();
    return ok ? '' : body.message;
  });
  showOrganization(organization);
  onSubmit('delete-account', async ({ confirm, password }) => {
    const { ok, body } = await call('DELETE', '/api/v1/me', { confirm, ...(password === '' ? {} : { password }) });
    if (ok) location.replace('/login');
    return ok ? '' : body.message;
  });
  await showSessions();
}

/** The one that is acted in, for its owner. */
function showOrganization(organization) {
  if (organization?.role !== 'owner') return;
  byId('organization').hidden = false;
  byId('organization-name').textContent = organization.name;
  byId('organization-slug').textContent = organization.slug;
  onSubmit('delete-organization', async ({ confirm }) => {
    const { ok, body } = await call('DELETE', `/api/v1/orgs/${encodeURIComponent(organization.id)}`, { confirm });
    if (ok) location.replace('/');
    return ok ? '' : body.message;
  });
}

async function showSessions() {
  const { ok, body } = await call('GET', '/api/v1/sessions');
  say('problem', ok ? '' : body.message);
  if (!ok) return;
  byId('others').hidden = body.items.length < 2;
  byId('sessions').replaceChildren(...body.items.map(toItem));
}

/** Once the button that was pressed is gone, whoever has no mouse goes on from the head of the list. */
async function showRest() {
  await showSessions();
  const heading = byId('sessions-title');
  heading.tabIndex = -1;
  heading.focus();
}

function toItem({ id, kind, name, address, createdAt, seenAt, isCurrent }) {
  const item = element('li', '');
  const title = name ?? (kind === 'cli' ? 'A command line' : 'A browser');
  const from = address === null ? '' : ` from ${address}`;
  const facts = `Signed in ${formatTime(createdAt)}${from}, used ${formatTime(seenAt)}`;
  const what = kind === 'cli' ? 'command line' : 'browser';
  item.append(
    element('p', isCurrent ? `${title}, ${what}: this one` : `${title}, ${what}`),
    element('p', facts, { className: 'soft' }),
  );
  if (isCurrent) return item;
  const button = element('button', 'Sign out', { type: 'button', className: 'second' });
  button.setAttribute('aria-label', `Sign out ${title}, ${facts}`);
  button.addEventListener('click', async () => {
    button.disabled = true;
    const { ok, status, body } = await call('DELETE', `/api/v1/sessions/${encodeURIComponent(id)}`);
    // Another page may have been first.
    if (ok || status === 404) return showRest();
    button.disabled = false;
    say('problem', body.message);
  });
  item.append(button);
  return item;
}
