import { byId, call, fillTerms, formatTime, goToLogin, onSubmit, showPart } from './common.js';

// Behind the "#" it is sent to no server and stands in no log.
const token = location.hash.slice(1);
const [invite, me, methods] = await Promise.all([
  call('POST', '/api/v1/invites/preview', { token }),
  call('GET', '/api/v1/me'),
  call('GET', '/api/v1/auth/methods'),
]);
if (invite.ok) show(invite.body);
else refuse(invite.body.message);

function refuse(message) {
  byId('why').textContent = message;
  showPart('invalid');
}

function show({ email, role, organization, expiresAt }) {
  fillTerms('facts', [
    ['Organisation', organization.name],
    ['As', role],
    ['Address', email],
    ['Good until', formatTime(expiresAt)],
  ]);
  const own = me.ok ? me.body.user.email : undefined;
  if (own === email) byId('accept').hidden = false;
  else {
    // Whether the address has an account is not told to whoever holds an invite for it.
    byId('signup').hidden = own !== undefined || methods.body.signup === 'provider';
    byId('other').hidden = false;
    byId('other-text').textContent =
      own === undefined
        ? 'You have an account here already, or an identity provider to sign in with?'
        : `You are signed in as ${own}, and the invite is for ${email}.`;
  }
  byId('email').value = email;
  onSubmit('accept', accept);
  onSubmit('signup', async (fields) => {
    const { ok, body } = await call('POST', '/api/v1/auth/signup', {
      email,
      name: fields.name,
      password: fields.password,
      invite: token,
    });
    if (ok) location.replace('/');
    return ok ? '' : body.message;
  });
  byId('sign-in').addEventListener('click', async () => {
    if (own !== undefined) await call('POST', '/api/v1/auth/logout', {});
    goToLogin();
  });
  showPart('invited');
}

async function accept() {
  const { ok, body } = await call('POST', '/api/v1/invites/accept', { token });
  if (ok) location.replace('/');
  return ok ? '' : body.message;
}
