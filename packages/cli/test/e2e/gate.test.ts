import { describe, expect, it } from 'vitest';
import { eventually, useRig } from './_setup.ts';
import type { Box } from './_setup.ts';

const rig = useRig();
const CLOSED = { model: false };

const putProvider = (box: Box, body: object) =>
  box.fetch('/api/model-provider', {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

describe('the gate', () => {
  it('is closed without a provider, opens in place, and stays open after a restart', async () => {
    const workspace = await rig.workspace();
    const box = await workspace.boot(CLOSED);
    expect(box.payload).toMatchObject({ gate: { open: false, reason: 'no-model-provider' }, deep_agents: [] });
    expect(box.stderr()).toContain('MODEL_PROVIDER_BASE_URL=');
    expect(box.stderr()).toContain(`curl -X PUT ${box.url}/api/model-provider`);
    expect(await box.chat('echo', 'say:hi')).toContain('agent_runtime_not_armed');
    const refused = await box.start('greet', { name: 'Ada' }).catch((error: Error) => error.message);
    expect(refused).toContain('503');
    expect(refused).toContain('workflow_runtime_not_armed');
    const started = await workspace.svc('workflows', 'start', 'greet', '--json');
    expect(started.code).toBe(1);
    expect(JSON.parse(started.stdout).error.code).toBe('workflow_runtime_not_armed');

    // What is edited while it is closed is what opens.
    workspace.edit('lib/word.ts', 'word-1', 'word-2');
    const { url } = rig.model();
    expect((await putProvider(box, { baseUrl: url, apiKey: 'sk-secret' })).status).toBe(200);
    await eventually(async () => (await box.chat('echo', 'tool:answer {}')).includes('agent-1 word-2'));
    expect((await box.finish((await box.start('greet', { name: 'Ada' })).runId)).status).toBe('completed');
    workspace.edit('lib/word.ts', 'word-2', 'word-3');
    await eventually(async () => (await box.chat('echo', 'tool:answer {}')).includes('agent-1 word-3'));
    expect(await (await box.fetch('/api/model-provider')).text()).not.toContain('sk-secret');
    await box.stop();

    const again = await workspace.boot(CLOSED);
    expect(again.payload).toMatchObject({
      gate: { open: true, reason: 'model-provider-stored' },
      deep_agents: ['echo'],
    });
    expect(await again.chat('echo', 'say:back')).toBe('back');
    await again.stop();

    const named = await workspace.boot();
    expect(named.payload.gate).toEqual({ open: true, reason: 'model-provider-env' });
    await named.stop();
  });

  it('refuses an address that is none, and stays closed', async () => {
    const workspace = await rig.workspace();
    const box = await workspace.boot(CLOSED);
    const answer = await putProvider(box, { baseUrl: 'provider' });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code: 'provider_url_invalid' });
    expect(await box.chat('echo', 'say:hi')).toContain('agent_runtime_not_armed');
    await box.stop();
  });

  it('keeps the provider of the environment for a start without it, unless a person has stored one', async () => {
    const workspace = await rig.workspace();
    await (await workspace.boot()).stop();
    const kept = await workspace.boot(CLOSED);
    expect(kept.payload.gate).toEqual({ open: true, reason: 'model-provider-stored' });
    expect(await kept.chat('echo', 'say:kept')).toBe('kept');
    const other = `${rig.model().url}/`;
    expect((await putProvider(kept, { baseUrl: other })).status).toBe(200);
    await kept.stop();
    await (await workspace.boot()).stop();
    const again = await workspace.boot(CLOSED);
    expect(await (await again.fetch('/api/model-provider')).json()).toMatchObject({ baseUrl: other, source: 'stored' });
    await again.stop();
  });

  it('is open without a provider once any run has completed', async () => {
    const workspace = await rig.workspace();
    const first = await workspace.boot();
    const { runId } = await first.start('greet', { name: 'Ada' });
    await first.finish(runId);
    expect((await first.fetch('/api/model-provider', { method: 'DELETE' })).status).toBe(200);
    await first.stop();
    const box = await workspace.boot(CLOSED);
    expect(box.payload).toMatchObject({ gate: { open: true, reason: 'first-run-completed' }, deep_agents: ['echo'] });
    expect((await box.finish((await box.start('greet', { name: 'Bo' })).runId)).output).toBe('workflow-1 hello-1 Bo');
    expect(await box.chat('echo', 'say:hi')).toContain('model_provider_missing');
    await box.stop();
  });
});
