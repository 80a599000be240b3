import { call, keepNext, nextPath, onSubmit } from './common.js';

keepNext();
onSubmit('login', async ({ email, password }) => {
  const { ok, body } = await call('POST', '/api/v1/auth/login', { email, password });
  if (ok) location.replace(nextPath());
  return ok ? '' : body.message;
});
