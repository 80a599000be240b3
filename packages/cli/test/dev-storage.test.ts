import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startObjectServer } from '@svc/dev-s3';
import { createStorage } from '../../runtime/src/storage/storage.ts';
import { bootDev, SLOW_MS } from './_schema-dev.ts';
import { eventually, occupy, useRig } from './e2e/_setup.ts';
import type { Run } from './e2e/_setup.ts';

const rig = useRig();

const KEYS = { accessKey: 'team', secretKey: 'a-secret-of-the-team' };

const KEEP = `import { svc } from '@svc/runtime';
export async function keepWorkflow(text: string) {
  'use workflow';
  return keep(text);
}
async function keep(text: string) {
  'use step';
  await svc.storage.put('notes/1.txt', text);
  return (await svc.storage.list()).items.length;
}
`;

/** A foreign S3 backend, with one bucket. */
async function startBackend() {
  const dir = mkdtempSync(join(tmpdir(), 'svc-backend-'));
  const server = await startObjectServer({ dir, port: 0, ...KEYS, buckets: ['shared'] });
  onTestFinished(async () => {
    await server.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const at = { endpoint: server.url, bucket: 'shared', region: 'us-east-1', forcePathStyle: true };
  const env = {
    SVC_S3_ENDPOINT: server.url,
    SVC_S3_ACCESS_KEY: KEYS.accessKey,
    SVC_S3_SECRET_KEY: KEYS.secretKey,
    SVC_S3_BUCKET: 'shared',
  };
  return { server, env, storage: createStorage({ ...KEYS, ...at, prefix: 'default/small/' }) };
}

it(
  'svc dev keeps objects where SVC_S3_ENDPOINT says, and starts no object store of its own',
  async () => {
    const { server, env, storage } = await startBackend();
    const workspace = await rig.workspace({ 'workflows/keep.workflow.ts': KEEP });
    // Nothing of it is asked for.
    const release = await occupy(workspace.ports.objects);
    onTestFinished(release);
    const dev = await bootDev(rig, workspace, { env });
    const { runId } = await dev.call<Run>('/api/workflows/keep/start', { args: ['Hello.'] });
    const run = await dev.call<Run>(`/api/runs/${runId}?wait=20s`);
    expect(run).toMatchObject({ status: 'completed', output: 1 });
    expect(await (await storage.get('notes/1.txt')).text()).toBe('Hello.');
    const services = await dev.call<{ storage: object }>('/api/services');
    expect(services.storage).toMatchObject({ endpoint: server.url, bucket: 'shared', accessKeyId: 'team' });
    expect(JSON.stringify(services)).not.toContain(KEYS.secretKey);
    expect(workspace.read('.svc/services.env')).toContain(`SVC_S3_ENDPOINT=${server.url}\n`);

    // As in a deployed box, /health asks it as well.
    const health = () => dev.call<{ status: string; checks: object }>('/health');
    expect(await health()).toMatchObject({ status: 'ok', checks: { storage: { status: 'ok' } } });
    await server.close();
    await eventually(async () => (await health()).status === 'degraded', { within: 20_000 });
  },
  SLOW_MS,
);

it.each([
  [{ SVC_S3_ENDPOINT: 'http://127.0.0.1:9' }, /^SVC_S3_ACCESS_KEY is missing, and SVC_S3_ENDPOINT is set\.$/],
  [{ SVC_S3_BUCKET: 'mine' }, /^SVC_S3_ENDPOINT is missing, and SVC_S3_BUCKET is set\.$/],
  [
    {
      SVC_S3_ENDPOINT: 'http://127.0.0.1:9/bucket',
      SVC_S3_ACCESS_KEY: 'a',
      SVC_S3_SECRET_KEY: 's',
    },
    /^SVC_S3_ENDPOINT /,
  ],
])('svc dev refuses half of a backend: %o', async (env, message) => {
  await expect(bootDev(rig, await rig.workspace(), { env })).rejects.toThrow(message);
});
