import { byId, call, element, fillTerms, formatTime, goToLogin, onSubmit, say } from './common.js';

const me = await call('GET', '/api/v1/me');
if (me.ok) await show(me.body);
else goToLogin();

async function show({ user, organization, organizations, endpoint }) {
  byId('page').hidden = false;
  byId('sign-out').addEventListener('click', async () => {
    await call('POST', '/api/v1/auth/logout', {});
    location.replace('/login');
  });
  fillTerms('who', [
    ['Signed in as', `${user.name}, ${user.email}`],
    ['Organisation', organization ? `${organization.name}, as ${organization.role}` : 'none: accept an invite'],
    ['Control plane', element('code', endpoint)],
  ]);
  showSwitch(organization, organizations);
  if (organization) await showInstallations();
}

function showSwitch(organization, organizations) {
  byId('switch').hidden = organizations.length < 2;
  byId('organization').replaceChildren(
    ...organizations.map(({ id, name }) => element('option', name, { value: id, selected: id === organization?.id })),
  );
  onSubmit('switch', async (fields) => {
    const { ok, body } = await call('POST', '/api/v1/session/organization', { organization: fields.organization });
    if (ok) location.reload();
    return ok ? '' : body.message;
  });
}

async function showInstallations() {
  const { ok, body } = await call('GET', '/api/v1/installations');
  if (!ok) return say('problem', body.message);
  byId('none').hidden = body.items.length > 0;
  byId('installations').replaceChildren(
    ...body.items.map(({ id, name, deployment }) => {
      const item = element('li', '');
      const line = element('p', '', { className: 'soft' });
      line.append(element('code', id));
      const where = deployment
        ? `${deployment.url}, image ${deployment.imageTag}, linked ${formatTime(deployment.at)}`
        : 'No box is registered.';
      const title = element('p', '');
      const href = `/studio/?installation=${encodeURIComponent(id)}`;
      title.append(deployment ? element('a', name, { href }) : name);
      item.append(title, line, element('p', where, { className: 'soft' }));
      return item;
    }),
  );
}
