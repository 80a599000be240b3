import { byId, call, keepNext, nextPath, onSubmit } from './common.js';

keepNext();
onSubmit('signup', async ({ name, email, password, organization }) => {
  const { ok, body } = await call('POST', '/api/v1/auth/signup', { name, email, password, organization });
  if (ok) location.replace(nextPath());
  return ok ? '' : body.message;
});
const { body: methods } = await call('GET', '/api/v1/auth/methods');
if (methods.signup === 'provider') {
  byId('signup').hidden = true;
  byId('provider-only').hidden = false;
}
