import { resolve } from 'node:path';
import { openClient, toSegment } from '../../client/client.ts';
import type { Client } from '../../client/client.ts';
import type { Context } from '../../context.ts';
import { EXIT, usageError } from '../../errors.ts';
import { checkHeader } from '../../operations/request.ts';
import { answerOf, object } from '../../payload/payload.ts';
import { defineVerb, TARGET_ARGS } from '../../verb.ts';
import { checkPlace } from '../../workspace/place.ts';
import { writeWhole } from '../replay/write.ts';
import type { EvalRun } from './eval-run.ts';
import { toJUnit } from './junit.ts';
import { formatRun } from './matrix.ts';

export const runSuite = defineVerb({
  examples: ['svc eval smoke', 'svc eval smoke --samples 3 --junit evals.xml --json'],
  args: {
    suite: { type: 'positional', required: true, description: 'The suite: its name, or its id.' },
    model: { type: 'string', valueHint: 'model', description: 'In place of the model of the suite and of its agents.' },
    prompt: {
      type: 'string',
      valueHint: 'id@version',
      description: 'A version of a prompt in place of what is published, a draft too. May be given more than once.',
    },
    samples: {
      type: 'string',
      valueHint: 'number',
      description: 'How often each case is run. Default: as the suite says.',
    },
    concurrency: {
      type: 'string',
      valueHint: 'number',
      description: 'How many are run at once. Default: as the suite says.',
    },
    note: { type: 'string', valueHint: 'text', description: 'What this run is to show.' },
    junit: { type: 'string', valueHint: 'path', description: 'A file the results are written to as JUnit XML.' },
    'idempotency-key': {
      type: 'string',
      valueHint: 'key',
      description: 'The same key launches nothing twice within 24 hours: it follows the first.',
    },
    detach: { type: 'boolean', description: 'Do not wait for its end.' },
    ...TARGET_ARGS,
  },
  repeatable: ['prompt'],
  payload: object({ run: answerOf('evals.runs.get') }),
  async run({ suite, junit, detach, ...args }, context) {
    const file = junit === undefined ? undefined : resolve(context.cwd, junit);
    if (file) checkPlace(file, { flag: 'junit', kind: 'file' });
    if (file && detach) throw usageError('--junit needs the end of the run.', 'Leave out --detach.');
    const client = openClient(args, context);
    const key = args['idempotency-key'];
    const { id } = await client.send<{ id: string }>({
      method: 'POST',
      path: `/api/evals/suites/${toSegment(suite)}/run`,
      body: toBody(args),
      headers: key === undefined ? {} : { 'idempotency-key': checkHeader('idempotency-key', key) },
    });
    const run = await (detach ? readPage(client, id, {}) : follow(client, id, context));
    if (file) writeWhole(file, toJUnit(run));
    const isBelow = !detach && run.passed !== true;
    return {
      data: { run },
      human: (style) => formatRun(run, style),
      hint: detach ? `See it with: svc eval get ${id}` : `Compare it with: svc eval compare ${id}`,
      closed: Promise.resolve(isBelow ? EXIT.generic : EXIT.ok),
    };
  },
});

// --- internal ---

/** Seconds the box holds one answer: what is shown of the progress is that old. */
const HOLD = '10';
const PAGE = '200';

interface Typed {
  model?: string | undefined;
  prompt?: string | undefined;
  samples?: string | undefined;
  concurrency?: string | undefined;
  note?: string | undefined;
}

function toBody({ model, prompt, samples, concurrency, note }: Typed): object {
  const prompts = prompt?.split(',').map(parsePrompt);
  const given = {
    model,
    prompts,
    samples: toCount('samples', samples),
    concurrency: toCount('concurrency', concurrency),
    note,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function parsePrompt(text: string): { promptId: string; version: number } {
  const [, promptId, version] = /^([\da-f-]{36})@(\d{1,9})$/i.exec(text.trim()) ?? [];
  if (promptId === undefined)
    throw usageError(
      `--prompt does not take "${text}".`,
      'Write <prompt id>@<version>, as in 0192f3b4-0000-7000-8000-000000000000@2.',
    );
  return { promptId, version: Number(version) };
}

function toCount(flag: string, text: string | undefined): number | undefined {
  if (text === undefined || /^[1-9]\d{0,3}$/.test(text)) return text === undefined ? undefined : Number(text);
  throw usageError(`--${flag} does not take "${text}".`, 'Use a whole number from 1.');
}

async function follow(client: Client, id: string, { progress }: Context): Promise<EvalRun> {
  progress('The suite is launched');
  for (;;) {
    const run = await readPage(client, id, { wait: HOLD });
    if (run.status !== 'running') return readAll(client, run);
    progress(`${run.summary.results} of ${run.planned} are scored, ${run.summary.passed} pass`);
  }
}

function readPage(client: Client, id: string, query: Record<string, string>): Promise<EvalRun> {
  return client.get<EvalRun>(`/api/evals/runs/${toSegment(id)}`, { limit: PAGE, ...query });
}

/** With the cases of all pages. */
async function readAll(client: Client, first: EvalRun): Promise<EvalRun> {
  const cases = [...first.cases];
  for (let cursor = first.nextCursor; cursor !== null;) {
    const page = await readPage(client, first.id, { cursor });
    cases.push(...page.cases);
    cursor = page.nextCursor === cursor ? null : page.nextCursor;
  }
  return { ...first, cases, nextCursor: null };
}
