import { call, nextPath, onSubmit } from './common.js';

onSubmit('login', async ({ token }) => {
  const { ok, body } = await call('POST', '/api/v1/self-host/login', { token });
  if (ok) location.replace(nextPath());
  return ok ? '' : body.message;
});
