import { expect, test } from 'vitest';
import { svc } from '../src/index.ts';
import { setupBoxes } from './_setup.ts';

const boxes = setupBoxes();

/** What each capability stands for: routes of the box, or members of `svc`. */
const OFFERED: Record<string, readonly string[]> = {
  'activity.read': ['GET /api/activity', 'GET /api/activity/:id'],
  'ai.modelgateway': ['svc.ai', 'POST /wire-a/v1/chat/completions', 'GET /api/model-provider', 'GET /api/models'],
  'approval.fire_and_forget': ['GET /api/approvals', 'POST /api/approvals/:id/decide'],
  'browser.provider': ['svc.browser', 'GET /api/browser', 'PUT /api/browser'],
  'config.read_write': ['svc.config', 'GET /api/config', 'PUT /api/config/:key'],
  'database.postgres_direct': ['svc.database'],
  'prompts.basic': ['svc.prompts', 'GET /api/prompts', 'POST /api/prompts'],
  'queues.jobs': ['GET /api/recurring-jobs', 'GET /api/workflows/:name/queue'],
  'secrets.read_write': ['svc.secrets', 'GET /api/secrets', 'PUT /api/secrets/:name'],
  'rag.basic': ['svc.rag', 'GET /api/rag/collections', 'POST /api/rag/collections/:name/search'],
  'storage.s3': ['svc.storage', 'GET /api/storage/objects', 'POST /api/storage/objects/upload-url'],
};

test('every capability the box names has its routes, or its members of svc', async () => {
  const box = await boxes.open();
  const { capabilities } = (await (await box.request('/api/contract')).json()) as { capabilities: string[] };
  expect(capabilities.filter((name) => OFFERED[name] === undefined)).toEqual([]);
  const { routes } = (await (await box.request('/')).json()) as { routes: { method: string; path: string }[] };
  const served = new Set(routes.map(({ method, path }) => `${method} ${path}`));
  const members = new Set(Object.keys(svc).map((name) => `svc.${name}`));
  for (const capability of capabilities)
    expect([capability, OFFERED[capability]?.filter((one) => !served.has(one) && !members.has(one))]).toEqual([
      capability,
      [],
    ]);
});
