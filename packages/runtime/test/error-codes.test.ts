import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { requestApproval } from '../src/engine/primitives/approval.ts';
import { createHook } from '../src/engine/primitives/hook.ts';
import { listHooks } from '../src/engine/stores/contract/world.ts';
import { ERROR_STATUS } from '../src/errors.ts';
import type { ErrorCode } from '../src/errors.ts';
import { finish, json, runWorkflow, setupBoxes, startWorkflow, toStep, until, untilStatus } from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';

const boxes = setupBoxes();

const OPTIONS: TestBoxOptions = {
  workflows: {
    echo: { run: async (input: unknown) => input },
    typed: { run: async () => 1, inputSchema: z.object({ n: z.number() }) },
    hook: { run: async () => createHook({ token: 't' }) },
    ask: { run: async () => requestApproval({ title: 'Go?' }) },
    broken: new Error('Broken.'),
    reject: { run: async () => createHook({ token: 'busy' }), serial: { onConflict: 'reject' } },
    limited: { run: async () => 1, rateLimit: { limit: 1, period: '1h' } },
    timed: { run: async () => 1, schedules: [{ cron: '0 0 29 2 *' }] },
  },
};

const post = (box: TestBox, path: string, body: unknown = {}, headers = {}) =>
  box.request(path, json(body, { headers }));
const start = (box: TestBox, name: string, body: unknown = {}, headers = {}) =>
  post(box, `/api/workflows/${name}/start`, body, headers);

async function park(box: TestBox, name: string): Promise<string> {
  const runId = await startWorkflow(box, name);
  await untilStatus(box, runId, 'waiting');
  return runId;
}

async function ask(box: TestBox): Promise<{ runId: string; path: string }> {
  const runId = await park(box, 'ask');
  const [hook] = await listHooks(box.journal, runId);
  return { runId, path: `/api/approvals/${hook?.token}/decide` };
}

/** A request that is answered with the code, for each code that a workflow, a run, a hook, an approval or a timer can have. */
const PROVOKED: Partial<
  Record<ErrorCode, { details?: unknown; box?: TestBoxOptions; ask(box: TestBox): Promise<Response> }>
> = {
  invalid_request: {
    details: { issues: [{ path: ['limit'], message: expect.any(String) }] },
    ask: (box) => box.request('/api/runs?limit=0'),
  },
  invalid_json: { ask: (box) => start(box, 'echo', '{') },
  invalid_cursor: { ask: (box) => box.request('/api/approvals?cursor=x') },
  workflow_input_invalid: {
    details: { issues: [{ path: ['n'], message: expect.any(String) }] },
    ask: (box) => start(box, 'typed', { n: 'x' }),
  },
  workflow_not_found: {
    details: {
      workflows: ['ask', 'broken', 'echo', 'hook', 'limited', 'reject', 'timed', 'typed'].map(() => expect.any(String)),
    },
    ask: (box) => start(box, 'nope'),
  },
  workflow_compile_failed: {
    details: { problem: expect.objectContaining({ file: 'workflows/broken.workflow.ts' }) },
    ask: (box) => start(box, 'broken'),
  },
  workflow_runtime_not_armed: { box: { provider: 'none' }, ask: (box) => start(box, 'echo') },
  workflow_not_chat: { ask: (box) => post(box, '/api/workflows/echo/chat') },
  workflow_busy: {
    details: { runId: expect.any(String) },
    async ask(box) {
      await park(box, 'reject');
      return start(box, 'reject');
    },
  },
  workflow_id_taken: {
    details: { runId: expect.any(String), status: expect.any(String) },
    async ask(box) {
      await start(box, 'hook', {}, { 'x-svc-id': 'a' });
      return start(box, 'hook', {}, { 'x-svc-id': 'a' });
    },
  },
  workflow_rate_limited: {
    details: { retryAt: expect.stringMatching(/Z$/), retryAfter: expect.any(Number) },
    async ask(box) {
      await start(box, 'limited');
      return start(box, 'limited');
    },
  },
  idempotency_conflict: {
    async ask(box) {
      await start(box, 'echo', { a: 1 }, { 'idempotency-key': 'k' });
      return start(box, 'echo', { a: 2 }, { 'idempotency-key': 'k' });
    },
  },
  run_not_found: { ask: (box) => box.request(`/api/workflows/runs/${randomUUID()}`) },
  key_not_active: {
    details: { status: 'revoked' },
    async ask(box) {
      const body = { name: 'k', grants: { agents: [], workflows: ['echo'] } };
      const { id } = (await (await post(box, '/api/keys', body)).json()) as { id: string };
      await post(box, `/api/keys/${id}/revoke`);
      return post(box, `/api/keys/${id}/rotate`);
    },
  },
  run_final: {
    details: { status: 'completed' },
    ask: async (box) => post(box, `/api/runs/${String((await runWorkflow(box, 'echo')).runId)}/cancel`),
  },
  run_not_final: { ask: async (box) => post(box, `/api/runs/${await park(box, 'hook')}/retry`) },
  run_not_blocked: { ask: async (box) => post(box, `/api/runs/${await park(box, 'hook')}/resume`) },
  run_not_retryable: {
    box: { agents: { helper: defineDeepAgent({ name: 'helper', instructions: '' }) } },
    async ask(box) {
      const body = { model: 'helper', messages: [{ role: 'user', content: 'say:hi' }] };
      await (await post(box, '/wire-a/v1/chat/completions', body, { 'x-api-key': 'k' })).text();
      const find = async () => (await box.journal.listRuns({ kind: 'agent', status: 'completed' }, { limit: 1 }))[0];
      await until(async () => (await find()) !== undefined);
      return post(box, `/api/runs/${(await find())?.runId}/retry`);
    },
  },
  run_not_forkable: { ask: async (box) => box.request(`/api/runs/${await park(box, 'hook')}/fork?from=1`) },
  run_changed: {
    ask: async (box) => post(box, `/api/runs/${await park(box, 'hook')}/fork`, { from: 'start', etag: 'of before' }),
  },
  trigger_not_found: {
    ask: (box) => box.request('/api/workflows/reject/queue/nope', { method: 'DELETE' }),
  },
  hook_not_found: { ask: (box) => post(box, '/api/workflows/hooks/nope/resume') },
  hook_closed: {
    async ask(box) {
      await post(box, `/api/runs/${await park(box, 'hook')}/cancel`);
      return post(box, '/api/workflows/hooks/t/resume');
    },
  },
  already_decided: {
    details: { at: expect.any(String), payload: { n: 1 } },
    async ask(box) {
      await park(box, 'hook');
      await post(box, '/api/workflows/hooks/t/resume', { n: 1 });
      return post(box, '/api/workflows/hooks/t/resume', { n: 2 });
    },
  },
  approval_not_found: { ask: (box) => post(box, '/api/approvals/nope/decide', { decision: 'approve' }) },
  approval_closed: {
    async ask(box) {
      const { runId, path } = await ask(box);
      await post(box, `/api/runs/${runId}/cancel`);
      return post(box, path, { decision: 'approve' });
    },
  },
  activity_not_found: { ask: (box) => box.request('/api/activity/nope') },
  job_not_found: { ask: (box) => box.request('/api/recurring-jobs/nope') },
  job_declared: { ask: (box) => box.request('/api/recurring-jobs/timed:0', { method: 'DELETE' }) },
  payload_too_large: {
    details: { limit: 1_048_576 },
    ask: (box) => start(box, 'echo', { text: 'x'.repeat(1_048_576) }),
  },
  unsupported_media_type: {
    ask: (box) => box.request('/api/workflows/echo/start', { method: 'POST', body: '{}' }),
  },
  uri_too_long: { ask: (box) => box.request(`/api/runs?name=${'x'.repeat(8_200)}`) },
  not_found: { ask: (box) => box.request('/api/nope') },
  method_not_allowed: {
    details: { allow: ['POST'] },
    ask: (box) =>
      box.request('/api/workflows/echo/start', { method: 'PUT', headers: { 'content-type': 'application/json' } }),
  },
};

/** What other rooms answer, with the suite that provokes it; and what is printed at boot. */
const ELSEWHERE: Partial<Record<ErrorCode, string>> = {
  provider_url_invalid: 'provider',
  unauthorized: 'wire-a',
  invalid_signature: 'identity',
  forbidden: 'api-keys',
  users_not_granted: 'owners',
  key_not_found: 'api-keys',
  session_not_found: 'session-operations',
  identity_keys_unavailable: 'identity',
  config_key_not_found: 'config-values',
  config_value_invalid: 'config-values',
  revision_conflict: 'config-values',
  eval_case_not_found: 'evals',
  eval_run_final: 'evals',
  eval_run_not_final: 'evals',
  eval_run_not_found: 'evals',
  eval_suite_exists: 'evals',
  eval_suite_not_found: 'evals',
  eval_suite_not_runnable: 'evals',
  prompt_exists: 'prompts',
  prompt_not_found: 'prompts',
  prompt_not_published_before: 'prompts',
  prompt_too_large: 'prompts',
  prompt_version_not_found: 'prompts',
  run_not_replayable: 'replay',
  run_too_large: 'export',
  object_exists: 'storage-operations',
  object_not_found: 'storage',
  table_not_found: 'database-queries',
  query_failed: 'database-queries',
  query_too_large: 'database-queries',
  query_timeout: 'database-queries',
  query_login_unavailable: 'database-queries',
  too_many_queries: 'database-queries',
  file_type_unsupported: 'rag-upload',
  file_unreadable: 'rag-upload',
  too_many_files: 'read-file',
  storage_missing: 'storage',
  storage_refused: 'storage',
  secret_exists: 'secrets',
  secret_not_found: 'secrets',
  mcp_disabled: 'settings',
  catalog_entry_not_found: 'catalog',
  models_unavailable: 'provider',
  too_many_streams: 'events',
  address_not_allowed: 'key-hygiene',
  decision_not_yours: 'agui-keys',
  not_an_approver: 'approvers',
  arguments_changed: 'approvers',
  budget_exceeded: 'limit-routes',
  rate_limited: 'limit-routes',
  host_not_allowed: 'http',
  agent_not_found: 'wire-a',
  thread_unsupported_request: 'wire-b',
  approval_pending: 'wire-b',
  confirmation_required: 'mcp-confirmations',
  confirmation_declined: 'mcp-confirmations',
  confirmation_unavailable: 'copilot',
  call_interrupted: 'copilot-crash',
  copilot_disabled: 'copilot',
  turn_in_progress: 'wire-b',
  turn_blocked: 'agui-interrupts',
  client_too_slow: 'slow-readers',
  run_cancelled: 'wire-b-errors',
  workflow_guardrail_blocked: 'guardrails',
  agent_guardrail_blocked: 'guardrails',
  guardrail_not_found: 'guardrails',
  guardrail_exists: 'guardrails',
  guardrail_in_code: 'guardrails',
  too_many_guardrails: 'guardrails',
  trigger_invalid: 'triggers',
  too_many_triggers: 'triggers',
  trigger_queue_full: 'triggers',
  connection_invalid: 'connections',
  sign_in_invalid: 'connections',
  sign_in_refused: 'connections',
  connection_not_found: 'connections',
  connection_exists: 'connections',
  connection_not_ready: 'connections',
  too_many_connections: 'connections',
  connection_failed: 'connections',
  browser_url_invalid: 'browser',
  browser_unreachable: 'browser',
  browser_session_ended: 'browser',
  browser_not_configured: 'browser',
  browser_busy: 'browser',
  rag_collection_invalid: 'rag',
  rag_collection_not_found: 'rag',
  rag_document_not_found: 'rag',
  rag_collection_exists: 'rag',
  too_many_rag_collections: 'rag',
  vector_unavailable: 'rag',
  internal: 'http',
  agent_output_invalid: 'agent-output',
  model_output_invalid: 'ai',
  model_provider_failed: 'wire-a',
  result_too_large: 'turn-limits',
  model_timeout: 'model-client',
  agent_load_failed: 'wire-a',
  model_not_selected: 'wire-a',
  model_provider_missing: 'provider',
  agent_runtime_not_armed: 'provider',
  store_unavailable: 'replicas',
  store_full: 'stores',
  overloaded: 'bodies',
  shutting_down: 'drain',
  webhook_unanswered: 'hooks',
  delivery_not_found: 'notify',
  hook_queue_full: 'signal',
};

const HEADERS: Partial<Record<ErrorCode, Record<string, string>>> = { method_not_allowed: { allow: 'POST' } };

describe('an answer that refuses', () => {
  test.each(Object.entries(PROVOKED))('%s has its status, its shape and its headers', async (code, row) => {
    const box = await boxes.open({ ...OPTIONS, ...row.box });
    const answer = await row.ask(box);
    const body = (await answer.json()) as Record<string, unknown>;
    expect([answer.status, body.code]).toEqual([ERROR_STATUS[code as ErrorCode], code]);
    expect(body).toEqual({
      code,
      message: expect.stringMatching(/^[A-Z"].*[.?]$|^[A-Z"].*[^.]$/s),
      requestId: answer.headers.get('x-request-id'),
      ...(row.details === undefined ? {} : { details: row.details }),
    });
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    for (const [name, value] of Object.entries(HEADERS[code as ErrorCode] ?? {}))
      expect(answer.headers.get(name)).toBe(value);
  });

  test('is in this table or in that of another room, for every code there is', () => {
    const codes = Object.keys(ERROR_STATUS);
    const atBoot = codes.slice(codes.indexOf('already_running'));
    const missing = codes.filter((code) => !(code in PROVOKED) && !(code in ELSEWHERE) && !atBoot.includes(code));
    expect(missing).toEqual([]);
  });
});

describe('a limit of a run', () => {
  const grow = toStep('grow', (bytes: number) => 'x'.repeat(bytes));
  const wide = toStep('wide', (letters: number) => '漢'.repeat(letters));
  const count = toStep('count', () => 1);

  test.each([
    ['a step', async () => grow(1_048_577)],
    ['a step, in bytes of UTF-8', async () => wide(400_000)],
    ['the output', async () => 'x'.repeat(1_048_577)],
  ])('is 1 MiB for the result of %s: result_too_large', async (_what, run) => {
    const box = await boxes.open({ workflows: { big: { run } } });
    expect(await runWorkflow(box, 'big')).toMatchObject({ status: 'failed', error: { code: 'result_too_large' } });
  });

  test('lets a result of 1 MiB less its quotes and frame through', async () => {
    const box = await boxes.open({ workflows: { big: { run: async () => (await grow(1_048_500)).length } } });
    expect(await runWorkflow(box, 'big')).toMatchObject({ status: 'completed', output: 1_048_500 });
  });

  test('is 10,000 records: run_journal_full', async () => {
    const loop = async () => {
      for (let n = 0; n < 100; n++) await Promise.all(Array.from({ length: 101 }, () => count()));
    };
    const box = await boxes.open({ workflows: { loop: { run: loop } } });
    const runId = await startWorkflow(box, 'loop');
    await until(async () => (await box.journal.getRun(runId))?.endedAt != null, 60_000);
    expect(await finish(box, runId)).toMatchObject({ status: 'failed', error: { code: 'run_journal_full' } });
  }, 90_000);
});
