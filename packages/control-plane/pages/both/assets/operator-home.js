import { byId, call, element, fillTerms, formatTime, goToLogin, onSubmit, say } from './common.js';

const session = await call('GET', '/api/v1/self-host/session');
if (session.ok) await show();
else goToLogin();

async function show() {
  byId('page').hidden = false;
  byId('sign-out').addEventListener('click', async () => {
    await call('POST', '/api/v1/self-host/logout', {});
    location.replace('/login');
  });
  onSubmit('reveal', reveal);
  byId('hide').addEventListener('click', hide);
  await Promise.all([showBox(), showRuns()]);
}

async function showBox() {
  const [{ body: own }, box] = await Promise.all([call('GET', '/api/v1/self-host/health'), call('GET', '/box/health')]);
  const { agent = { reachable: false }, version, minContract } = own;
  const checks = Object.entries(box.body.checks ?? {});
  const failed = checks.filter(([, { status }]) => status !== 'ok');
  if (!agent.reachable)
    say('status', 'The box does not answer. Look whether it runs: docker compose ps agent, docker compose logs agent.');
  else if (agent.contract === null || agent.contract < minContract)
    say(
      'status',
      `The box is too old for this control plane: it speaks contract ${agent.contract ?? 'unknown'}, and ${minContract} is needed.`,
    );
  else if (failed.length > 0)
    say('status', `The box answers, and has trouble with: ${failed.map(([name]) => name).join(', ')}.`);
  else say('status', 'The box works.', 'good');
  fillTerms('facts', [
    ['Signed in as', `${session.body.name} (${session.body.role})`],
    ['Box', agent.build ? `${agent.build.name} ${agent.build.version}, contract ${agent.contract}` : 'unknown'],
    ['Control plane', version ?? 'unknown'],
  ]);
  byId('checks').replaceChildren(
    ...checks.map(([name, { status, reason }]) => {
      const item = element('li', '');
      item.append(element('p', `${name}: ${status === 'ok' ? 'works' : reason}`));
      return item;
    }),
  );
}

async function showRuns() {
  const { ok, body } = await call('GET', '/box/api/runs?limit=5');
  const items = ok ? body.items : [];
  byId('no-runs').hidden = items.length > 0 || !ok;
  byId('runs').replaceChildren(
    ...items.map((run) => {
      const item = element('li', '');
      const line = element('p', `${run.status} · ${formatTime(run.createdAt ?? run.startedAt)} · `, {
        className: 'soft',
      });
      line.append(element('code', run.id));
      item.append(element('p', run.name ?? run.workflow ?? ''), line);
      return item;
    }),
  );
}

async function reveal({ token }) {
  const { ok, status, body } = await call('POST', '/api/v1/self-host/credentials/reveal', { token });
  if (status === 401 && body.code === 'unauthorized') return goToLogin();
  if (!ok) return body.message;
  fillTerms('credentials', [
    ['Box', element('code', body.publicUrl ?? 'SVC_PUBLIC_URL is not set')],
    ['MCP', element('code', body.mcpUrl ?? 'SVC_PUBLIC_URL is not set')],
    ['Token', element('code', body.token)],
  ]);
  byId('reveal').reset();
  byId('reveal').hidden = true;
  byId('revealed').hidden = false;
  byId('hide').focus();
  return '';
}

function hide() {
  byId('credentials').replaceChildren();
  byId('revealed').hidden = true;
  byId('reveal').hidden = false;
  byId('token').focus();
}
