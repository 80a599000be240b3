import { byId, call, keepNext, nextPath, onSubmit } from './common.js';

/** What went wrong on the way back from the identity provider. */
const PROBLEMS = {
  sign_in_failed: 'The sign-in at the identity provider has failed. Begin again.',
  email_unverified: 'The identity provider has not verified your e-mail address. Verify it there first.',
  account_exists: 'There is an account with this address. Sign in with its password, and link it then.',
  signup_closed: 'There is no account with this address. Ask an owner of your organisation for an invite.',
  provider_unavailable: 'The identity provider does not answer. Try again later.',
};

keepNext();
onSubmit('login', async ({ email, password }) => {
  const { ok, body } = await call('POST', '/api/v1/auth/login', { email, password });
  if (ok) location.replace(nextPath());
  return ok ? '' : body.message;
});
showProblem(new URLSearchParams(location.search).get('error'));
const { body: methods } = await call('GET', '/api/v1/auth/methods');
byId('provider').hidden = methods.oidc !== true;
byId('provider-link').search = `?returnTo=${encodeURIComponent(nextPath())}`;

function showProblem(code) {
  if (code === null) return;
  const problem = document.querySelector('#login [role=alert]');
  problem.className = 'note bad';
  problem.textContent = Object.hasOwn(PROBLEMS, code) ? PROBLEMS[code] : PROBLEMS.sign_in_failed;
  problem.hidden = false;
}
