import { expect, test } from 'vitest';
import { OPERATIONS } from '../src/surface/index.ts';

/**
 * What was planned: id, route, kind and permission, whether a person is asked first, and why no
 * model may call it.
 */
const PLAN = `
runs.list | GET /api/runs | read runs:read
runs.get | GET /api/runs/:id | read runs:read
runs.steps | GET /api/runs/:id/steps | read runs:read
runs.step | GET /api/runs/:id/steps/:stepId | read runs:read
runs.timeline | GET /api/runs/:id/timeline | read runs:read
runs.logs | GET /api/runs/:id/logs | read logs:read
runs.logs_stream | GET /api/runs/:id/logs/stream | read logs:read | no: stream
runs.state | GET /api/runs/:id/state | read runs:read
runs.state_stream | GET /api/runs/:id/state/stream | read runs:read | no: stream
runs.stats | GET /api/runs/stats | read runs:read
runs.retry | POST /api/runs/:id/retry | write runs:retry
runs.cancel_all | POST /api/runs/cancel | write runs:cancel | confirm
runs.retry_all | POST /api/runs/retry | write runs:retry | confirm
runs.delete_all | POST /api/runs/delete | write runs:delete | confirm
runs.fork_preview | GET /api/runs/:id/fork | read runs:read
runs.fork | POST /api/runs/:id/fork | write runs:retry | confirm
runs.rewind | POST /api/runs/:id/rewind | write runs:retry | confirm
upgrade.check | GET /api/upgrade | read runs:read
upgrade.apply | POST /api/upgrade | write runs:retry | confirm
runs.pause | POST /api/runs/:id/pause | write runs:cancel
runs.resume | POST /api/runs/:id/resume | write runs:retry
runs.cancel | POST /api/runs/:id/cancel | write runs:cancel | confirm
runs.delete | DELETE /api/runs/:id | write runs:delete | confirm
sessions.list | GET /api/sessions | read sessions:read
sessions.get | GET /api/sessions/:id | read sessions:read
sessions.messages | GET /api/sessions/:id/messages | read sessions:read
sessions.runs | GET /api/sessions/:id/runs | read sessions:read
sessions.delete | DELETE /api/sessions/:id | write sessions:delete | confirm
approvals.list | GET /api/approvals | read hitl:read
approvals.get | GET /api/approvals/:id | read hitl:read
approvals.decide | POST /api/approvals/:id/decide | write hitl:decide
hooks.resume | POST /api/workflows/hooks/:token/resume | write hitl:decide | no: token in the path
logs.search | GET /api/logs | read logs:read
logs.tail | GET /api/logs/tail | read logs:read | no: stream
events.stream | GET /api/events | read events:read | no: stream
events.send | POST /api/events/:name | write workflows:start
activity.list | GET /api/activity | read activity:read
activity.get | GET /api/activity/:id | read activity:read
discovery.get | GET /api/discovery | read catalog:read
catalog.list | GET /api/catalog | read catalog:read
catalog.get | GET /api/catalog/:kind/:name | read catalog:read
catalog.update | PATCH /api/catalog/:kind/:name | write catalog:write
operations.list | GET /api/catalog/operations | read catalog:read
operations.get | GET /api/catalog/operations/:id | read catalog:read
workflows.list | GET /api/workflows | read catalog:read
workflows.get | GET /api/workflows/:name | read catalog:read
workflows.schema | GET /api/workflows/:name/schema | read catalog:read
workflows.start | POST /api/workflows/:name/start | write workflows:start
workflows.start_many | POST /api/workflows/:name/start-many | write workflows:start
workflows.chat | POST /api/workflows/:name/chat | write workflows:start | no: stream
workflows.queue | GET /api/workflows/:name/queue | read runs:read
workflows.dequeue | DELETE /api/workflows/:name/queue/:triggerId | write runs:cancel | confirm
jobs.list | GET /api/recurring-jobs | read catalog:read
jobs.get | GET /api/recurring-jobs/:id | read catalog:read
jobs.update | PATCH /api/recurring-jobs/:id | write jobs:write
jobs.run | POST /api/recurring-jobs/:id/run | write workflows:start
prompts.list | GET /api/prompts | read config:write
prompts.create | POST /api/prompts | write config:write
prompts.get | GET /api/prompts/:id | read config:write
prompts.update | PATCH /api/prompts/:id | write config:write
prompts.delete | DELETE /api/prompts/:id | write config:write | confirm
prompts.versions | GET /api/prompts/:id/versions | read config:write
prompts.version | GET /api/prompts/:id/versions/:version | read config:write
prompts.add_version | POST /api/prompts/:id/versions | write config:write
prompts.diff | GET /api/prompts/:id/diff | read config:write
prompts.publish | POST /api/prompts/:id/publish | write config:write
prompts.rollback | POST /api/prompts/:id/rollback | write config:write
config.list | GET /api/config | read config:read
config.get | GET /api/config/:key | read config:read
config.set | PUT /api/config/:key | write config:write
config.delete | DELETE /api/config/:key | write config:write | confirm
config.history | GET /api/config/:key/history | read config:read
secrets.list | GET /api/secrets | read secrets:read
secrets.get | GET /api/secrets/:name | read secrets:read
secrets.set | PUT /api/secrets/:name | write secrets:write | confirm
secrets.rotate | POST /api/secrets/:name/rotate | write secrets:rotate | confirm
secrets.delete | DELETE /api/secrets/:name | write secrets:write | confirm
connections.list | GET /api/connections | read connections:read
connections.get | GET /api/connections/:id | read connections:read
connections.providers | GET /api/connections/providers | read connections:read
connections.create | POST /api/connections | write connections:write
connections.authorize | POST /api/connections/:id/authorize | write connections:write | no: secret or signed URL in the answer
connections.set_credential | PUT /api/connections/:id/credential | write connections:write | confirm
connections.test | POST /api/connections/:id/test | read connections:read
connections.delete | DELETE /api/connections/:id | write connections:write | confirm
triggers.list | GET /api/triggers | read triggers:read
triggers.get | GET /api/triggers/:id | read triggers:read
triggers.create | POST /api/triggers | write triggers:write
triggers.update | PATCH /api/triggers/:id | write triggers:write
triggers.redeliver | POST /api/triggers/:id/deliveries/:deliveryId/redeliver | write triggers:write
triggers.delete | DELETE /api/triggers/:id | write triggers:write | confirm
guardrails.list | GET /api/guardrails | read guardrails:read
guardrails.get | GET /api/guardrails/:id | read guardrails:read
guardrails.hits | GET /api/guardrails/hits | read guardrails:read
guardrails.create | POST /api/guardrails | write guardrails:write
guardrails.update | PATCH /api/guardrails/:id | write guardrails:write
guardrails.order | PUT /api/guardrails/order | write guardrails:write
guardrails.test | POST /api/guardrails/test | read guardrails:read
guardrails.delete | DELETE /api/guardrails/:id | write guardrails:write | confirm
evals.cases.list | GET /api/evals/cases | read evals:read
evals.cases.get | GET /api/evals/cases/:id | read evals:read
evals.cases.create | POST /api/evals/cases | write evals:write
evals.cases.update | PATCH /api/evals/cases/:id | write evals:write
evals.cases.delete | DELETE /api/evals/cases/:id | write evals:write | confirm
evals.suites.list | GET /api/evals/suites | read evals:read
evals.suites.get | GET /api/evals/suites/:id | read evals:read
evals.suites.create | POST /api/evals/suites | write evals:write
evals.suites.update | PATCH /api/evals/suites/:id | write evals:write
evals.suites.delete | DELETE /api/evals/suites/:id | write evals:write | confirm
evals.suites.run | POST /api/evals/suites/:id/run | write evals:run | confirm
evals.runs.list | GET /api/evals/runs | read evals:read
evals.runs.get | GET /api/evals/runs/:id | read evals:read
evals.runs.compare | GET /api/evals/runs/:id/compare | read evals:read
evals.runs.cancel | POST /api/evals/runs/:id/cancel | write evals:cancel | confirm
evals.runs.delete | DELETE /api/evals/runs/:id | write evals:write | confirm
storage.buckets | GET /api/storage/buckets | read storage:read
storage.list | GET /api/storage/objects | read storage:read
storage.stat | GET /api/storage/objects/stat | read storage:read
storage.download | POST /api/storage/objects/download-url | read storage:read | no: secret or signed URL in the answer
storage.upload | POST /api/storage/objects/upload-url | write storage:write | no: upload
storage.move | POST /api/storage/objects/move | write storage:write
storage.delete | DELETE /api/storage/objects | write storage:write | confirm
database.tables | GET /api/database/tables | read database:read
database.rows | GET /api/database/tables/:schema/:table/rows | read database:read
database.query | POST /api/database/query | read database:read
rag.collections.list | GET /api/rag/collections | read rag:read
rag.collections.get | GET /api/rag/collections/:name | read rag:read
rag.collections.create | POST /api/rag/collections | write rag:admin
rag.collections.update | PATCH /api/rag/collections/:name | write rag:admin
rag.collections.delete | DELETE /api/rag/collections/:name | write rag:admin | confirm
rag.collections.reindex | POST /api/rag/collections/:name/reindex | write rag:admin
rag.documents.list | GET /api/rag/collections/:name/documents | read rag:read
rag.documents.get | GET /api/rag/collections/:name/documents/:id | read rag:read
rag.documents.add | POST /api/rag/collections/:name/documents | write rag:write
rag.documents.upload | POST /api/rag/collections/:name/documents/upload | write rag:write | no: upload
rag.documents.delete | DELETE /api/rag/collections/:name/documents/:id | write rag:write | confirm
rag.search | POST /api/rag/collections/:name/search | read rag:read
connections.list | GET /api/connections | read connections:read
connections.get | GET /api/connections/:id | read connections:read
connections.providers | GET /api/connections/providers | read connections:read
connections.create | POST /api/connections | write connections:write
connections.authorize | POST /api/connections/:id/authorize | write connections:write | no: secret or signed URL in the answer
connections.set_credential | PUT /api/connections/:id/credential | write connections:write | confirm
connections.test | POST /api/connections/:id/test | read connections:read
connections.delete | DELETE /api/connections/:id | write connections:write | confirm
triggers.list | GET /api/triggers | read triggers:read
triggers.get | GET /api/triggers/:id | read triggers:read
triggers.create | POST /api/triggers | write triggers:write
triggers.update | PATCH /api/triggers/:id | write triggers:write
triggers.redeliver | POST /api/triggers/:id/deliveries/:deliveryId/redeliver | write triggers:write
triggers.delete | DELETE /api/triggers/:id | write triggers:write | confirm
provider.get | GET /api/model-provider | read provider:read
provider.set | PUT /api/model-provider | write provider:write | confirm
provider.test | POST /api/model-provider/test | read provider:read
provider.delete | DELETE /api/model-provider | write provider:write | confirm
models.list | GET /api/models | read catalog:read
browser.get | GET /api/browser | read browser:read
browser.set | PUT /api/browser | write browser:write | confirm
browser.delete | DELETE /api/browser | write browser:write | confirm
settings.get | GET /api/settings | read settings:read
settings.update | PATCH /api/settings | write settings:write
settings.retention | PUT /api/settings/log-retention | write settings:admin
settings.mcp | PUT /api/settings/mcp | write settings:admin
settings.copilot | PUT /api/settings/copilot | write copilot:write
settings.setup | GET /api/settings/setup | read settings:read
keys.list | GET /api/keys | read keys:read
keys.create | POST /api/keys | write keys:write | no: secret or signed URL in the answer
keys.update | PATCH /api/keys/:id | write keys:write
keys.revoke | POST /api/keys/:id/revoke | write keys:write | confirm
health.get | GET /health | read none
contract.get | GET /api/contract | read none
services.get | GET /api/services | read services:read | no: endpoints
`;

/** Rooms that are planned and not built, by the first word of the id. What there is of one is held to the plan. */
const LATER = ['browser', 'connections', 'database', 'triggers'];

/** Where the box does otherwise than planned, and why. Without a row it is no operation. */
const DEVIATIONS: Record<string, { row?: string; why: string }> = {
  'workflows.chat': {
    why: 'a route of its own: the answer is what the steps write, in the headers and frames of a chat',
  },
  'keys.create': {
    row: 'keys.create | POST /api/keys | write keys:write | no: secret in the answer',
    why: 'there is no signed URL in this answer',
  },
  'keys.update': {
    row: 'keys.update | PATCH /api/keys/:id | write keys:write | confirm',
    why: 'a model that grants a key more is confirmed by a person',
  },
  'triggers.create': {
    row: 'triggers.create | POST /api/triggers | write triggers:write | confirm',
    why: 'it writes the secret by which somebody outside is let in',
  },
  'triggers.update': {
    row: 'triggers.update | PATCH /api/triggers/:id | write triggers:write | confirm',
    why: 'it writes the secret by which somebody outside is let in',
  },
  'approvals.decide': {
    row: 'approvals.decide | POST /api/approvals/:id/decide | write hitl:decide | confirm',
    why: 'what a model has caused to wait it does not decide alone',
  },
  'health.get': {
    why: 'GET /health is a route of its own, whose status says how the box is',
  },
};

/** Operations no one planned, and what asks for them. */
const ADDED: Record<string, string> = {
  'health.identity': 'svc dev and the CLI tell by it whether it is their box that answers',
  'hooks.kept': 'a payload that waits for a hook that never comes must be seen',
  'memory.clear': 'an end user may ask that what is remembered of them be forgotten',
  'memory.list': 'what is remembered of an end user must be seen',
  'hooks.signal': 'whoever signals a run need not know whether it has begun',
  'jobs.delete': 'code makes timers while it runs, and somebody has to be able to end one',
  'notify.deliveries': 'what was not delivered, and why, is looked for here',
  'notify.receivers': 'a receiver that takes nothing must be seen',
  'triggers.poll': 'whoever has set up a poll wants to see what comes of it, not wait for its time',
  'usage.get': 'who has a limit sees how near it is',
  'usage.list': 'what models cost is asked by key, by agent and by month',
  'keys.rotate': 'a key is replaced without a moment in which none is good',
  'notify.redeliver': 'what has failed for good can be sent once its receiver is mended',
  'runs.export': 'svc pull run',
  'settings.key_expiry': 'a key that was forgotten ends by itself',
  'runs.starts': 'a start that waits is meant by the beginning of its id, as a run is',
  'runs.stream': 'an output says the name of a stream, which somebody has to be able to read',
  'runs.streams': 'svc runs streams',
  'runs.webhooks': 'whoever connects an outside service needs the address that a run made for it',
  'runs.why': 'svc why',
  'workflows.changes': 'who has branched in code wants to know when the old branch can go',
  'workflows.find': 'whoever gave a run an id has no other name for it',
  'workflows.queued': 'whoever may start a workflow, an API key too, waits for the turn of a queued start',
  'workflows.run': 'whoever may start a workflow reads what came of it, an API key too',
};

const toRow = ({ id, route, kind, permission, confirm, copilot }: (typeof OPERATIONS)[number]): string =>
  [id, route, `${kind} ${permission}`, ...(confirm ? ['confirm'] : []), ...(copilot === 'yes' ? [] : [copilot])].join(
    ' | ',
  );
const idOf = (row: string): string => row.split(' | ')[0] ?? '';

const planned = new Map(
  PLAN.trim()
    .split('\n')
    .map((row) => [idOf(row), row]),
);
const built = new Map(OPERATIONS.map((op) => [op.id, toRow(op)]));

const isLater = (id: string): boolean => LATER.some((start) => id === start || id.startsWith(`${start}.`));

test('every planned operation is there as planned, or as the list of deviations says', () => {
  const due = [...planned].filter(([id]) => built.has(id) || !isLater(id));
  const expected = due.map(([id, row]) => (DEVIATIONS[id] ? DEVIATIONS[id].row : row) ?? `${id}: none`);
  expect(due.map(([id]) => built.get(id) ?? `${id}: none`)).toEqual(expected);
});

test('what no one planned is named with a reason', () => {
  expect([...built.keys()].filter((id) => !planned.has(id)).toSorted()).toEqual(Object.keys(ADDED).toSorted());
});

test('no deviation is left that is none', () => {
  expect(Object.entries(DEVIATIONS).filter(([id, { row }]) => !planned.has(id) || planned.get(id) === row)).toEqual([]);
});
