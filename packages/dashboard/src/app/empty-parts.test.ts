import { createElement } from 'react';
import type { ComponentType } from 'react';
import { beforeAll, describe, expect, test } from 'vitest';
import { Documents } from '../screens/collection/documents.tsx';
import { Uses } from '../screens/connection/uses.tsx';
import { Result } from '../screens/database/result.tsx';
import { TableList } from '../screens/database/table-list.tsx';
import { TableRows } from '../screens/database/table-rows.tsx';
import { Compare as CompareRuns } from '../screens/eval-run/compare.tsx';
import { Matrix } from '../screens/eval-run/matrix.tsx';
import { SuiteCases } from '../screens/eval-suite/cases.tsx';
import { CaseList } from '../screens/evals/case-list.tsx';
import { EvalRuns } from '../screens/evals/eval-runs.tsx';
import { SuiteForm } from '../screens/evals/suite-form.tsx';
import { Hits } from '../screens/guardrails/hits.tsx';
import { Firings } from '../screens/jobs/firings.tsx';
import { Compare } from '../screens/prompt/compare.tsx';
import { Published } from '../screens/run/published.tsx';
import { Webhooks } from '../screens/run/webhooks.tsx';
import { Replay } from '../screens/sessions/replay.tsx';
import { SessionRuns } from '../screens/sessions/session-runs.tsx';
import { Deliveries } from '../screens/trigger/deliveries.tsx';
import { BySession } from '../screens/usage/by-session.tsx';
import { ByWho } from '../screens/usage/by-who.tsx';
import { ByWorkflow } from '../screens/usage/by-workflow.tsx';
import { Followed } from '../screens/workflow/followed.tsx';
import { LastRuns } from '../screens/workflow/last-runs.tsx';
import { Queue } from '../screens/workflow/queue.tsx';
import { answer, openPart, openScreen, stubBrowser, textOf } from './_draw.ts';

/** What answers each question that is no list without anything in it. */
const ANSWERS: Record<string, unknown> = {
  'jobs.get': { input: {}, firings: [] },
  'runs.state': { runId: 'r', status: 'running', state: null },
  'prompts.diff': { from: 1, to: 2, hunks: [] },
  'database.rows': { columns: [{ name: 'id', type: 'integer' }], rows: [], nextCursor: null },
  'discovery.get': { agents: [], workflows: [] },
};
const PROMPT = { id: 'p', key: 'tone', ownerKind: 'workspace', ownerName: '', publishedVersion: 1, latestVersion: 2 };
const EVAL_RUN = { id: 'e', suiteId: 's', createdAt: '2026-01-01T00:00:00Z', summary: { scorers: [] } };
const NO_ONE = () => {};
const part = (component: unknown, props: object) => () => createElement(component as ComponentType, props);

/** A part of a screen, what it says when it has nothing, and what it says to do, or when there will be something. */
const PARTS: readonly [name: string, part: () => ReturnType<typeof createElement>, title: string, way: string][] = [
  ['runs of a workflow', part(LastRuns, { name: 'w' }), 'It has not run yet', 'Start it'],
  ['queue of a workflow', part(Queue, { name: 'w' }), 'No start waits', 'Starts wait here for a place'],
  ['start that is followed', part(Followed, { name: 'w' }), 'What you start is followed here', 'Its steps'],
  ['state of a run', part(Published, { id: 'r' }), 'It has published no state', 'svc.publish(state)'],
  ['streams of a run', part(Published, { id: 'r' }), 'It has written to no stream', 'getWritable()'],
  ['addresses of a run', part(Webhooks, { id: 'r' }), 'It has made no address', 'createWebhook()'],
  [
    'turns of a session',
    part(Replay, { session: { sessionId: 's', summary: null }, isLeaving: false }),
    'No turn has ended yet',
    'the tab Runs says why',
  ],
  ['runs of a session', part(SessionRuns, { id: 's', isLeaving: false }), 'It has no run', 'What is said next'],
  ['firings of a timer', part(Firings, { id: 'w:0', onClose: NO_ONE }), 'It has not fired yet', 'Run now'],
  ['hits of rules', part(Hits, {}), 'No rule has found anything', 'Try them on a text'],
  ['cases', part(CaseList, { onOpen: NO_ONE }), 'There is no case yet', 'Make an eval case'],
  ['cases to choose from', part(SuiteForm, { onClose: NO_ONE }), 'There is no case yet', 'make one under Cases'],
  ['cases of a suite', part(SuiteCases, { suite: { cases: [], tags: [] } }), 'It has no cases', 'choose some'],
  [
    'cases of a tag',
    part(SuiteCases, { suite: { cases: [], tags: ['slow'] } }),
    'No case has this tag',
    'Give it to some',
  ],
  ['runs of suites', part(EvalRuns, {}), 'Nothing was launched yet', 'svc eval <suite>'],
  ['matrix of an eval run', part(Matrix, { run: EVAL_RUN, rows: [] }), 'Nothing is scored yet', 'as soon as'],
  [
    'runs to compare with',
    part(CompareRuns, { run: EVAL_RUN }),
    'There is nothing to compare it with',
    'Launch the suite again',
  ],
  [
    'runs of a suite that is gone',
    part(CompareRuns, { run: { ...EVAL_RUN, suiteId: null } }),
    'The suite was deleted',
    'launch another suite',
  ],
  ['two versions of a prompt', part(Compare, { prompt: PROMPT }), 'They are the same', 'Choose another version'],
  ['rows of a table', part(TableRows, { schema: 'public', table: 't' }), 'There is no row yet', 'svc.db'],
  [
    'rows of a statement',
    part(Result, { columns: [], rows: [], cut: null, durationMs: 1 }),
    'No row came of it',
    'Change the statement',
  ],
  ['tables', part(TableList, {}), 'The project has no table yet', 'src/schema.ts'],
  [
    'documents',
    part(Documents, { name: 'handbook', onFiles: NO_ONE }),
    'There is no document yet',
    'What is added is cut',
  ],
  [
    'uses of a connection',
    part(Uses, { id: 'shop', uses: [] }),
    'Nothing has called through it yet',
    'svc.connection(',
  ],
  [
    'deliveries of a webhook',
    part(Deliveries, { trigger: { id: 't', kind: 'webhook', deliveries: [] } }),
    'Nothing has come yet',
    'Give its address to the service',
  ],
  [
    'deliveries of a poll',
    part(Deliveries, { trigger: { id: 't', kind: 'poll', deliveries: [] } }),
    'Nothing has come yet',
    'Each new item',
  ],
  [
    'usage by agent',
    part(ByWho, { kind: 'agent', month: '2026-11' }),
    'No agent has used anything in November 2026',
    'choose another month',
  ],
  ['usage by key', part(ByWho, { kind: 'key', month: '2026-11' }), 'No API key has used anything', 'API key'],
  ['usage by session', part(BySession, {}), 'There is no session', 'Playground'],
  ['usage by workflow', part(ByWorkflow, { month: '2026-11' }), 'There is no workflow', 'svc add workflow'],
];

describe('a part of a screen that has nothing says so, and what to do:', () => {
  beforeAll(stubBrowser);
  const draw = async (open: Promise<Awaited<ReturnType<typeof openPart>>>): Promise<string> =>
    textOf(
      (await open)((query) => answer(query, ANSWERS[String(query.queryKey[0])] ?? { items: [], nextCursor: null })),
    );

  test.each(PARTS)('%s', async (_, component, title, way) => {
    expect((await draw(openPart(component))).split(title)[1]).toContain(way);
  });

  test.each([
    ['runs', '?name=w', 'No run matches', 'Change or clear the filters'],
    ['approvals', '?status=rejected', 'There is none', 'Show another state'],
    ['activity', '?operation=prompts.create', 'No change matches', 'Show all changes'],
    ['evals', '?tab=cases', 'There is no case yet', 'Make an eval case'],
    ['evals', '?tab=runs', 'Nothing was launched yet', 'svc eval <suite>'],
    ['guardrails', '?tab=hits', 'No rule has found anything', 'Try them on a text'],
  ])('%s at %s', async (id, search, title, way) => {
    const text = await draw(openScreen(id, search));
    expect(text.split(title)[1]).toContain(way);
  });
});
