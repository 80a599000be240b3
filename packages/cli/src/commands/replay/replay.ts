import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Replayed, ReplayedCall } from '@svc/runtime/host';
import { checkFolder } from '../../dev/project.ts';
import { CliError, EXIT, usageError } from '../../errors.ts';
import { findProject } from '../../client/target.ts';
import { defineVerb, TARGET_ARGS } from '../../verb.ts';
import type { Context } from '../../context.ts';
import { readHistory } from './history.ts';
import type { History } from './history.ts';
import { openInspector } from './inspector.ts';
import type { Inspector } from './inspector.ts';
import { REPLAY_PAYLOAD } from './payload.ts';
import { formatCall, formatReplayed } from './print.ts';
import { checkPromotion, findTestHint, promote } from './promote.ts';
import { createStepper } from './stepper.ts';

export const replayRun = defineVerb({
  examples: [
    'svc replay 0192f3b4-0000-7000-8000-000000000000 --step',
    'svc replay .svc/runs/0192f3b4-0000-7000-8000-000000000000.json --inspect-brk',
  ],
  args: {
    run: { type: 'positional', required: true, description: 'The run id, or a file that `svc pull run` wrote.' },
    step: { type: 'boolean', description: 'Stop after each step until Enter is pressed.' },
    until: {
      type: 'string',
      valueHint: 'step',
      description: 'Stop once this step has its answer: the number of its call, its name, or <file>#<name>.',
    },
    inspect: { type: 'boolean', description: 'Let a debugger connect.' },
    'inspect-brk': { type: 'boolean', description: 'Wait for a debugger, and stop where the code of the run begins.' },
    'inspect-port': { type: 'string', valueHint: 'port', description: 'Where a debugger connects. Default: 9229.' },
    promote: {
      type: 'string',
      valueHint: 'file.test.ts',
      description: 'Write a vitest test that checks the code against this history.',
    },
    force: { type: 'boolean', description: 'With --promote: replace a file that is there.' },
    ...TARGET_ARGS,
  },
  completes: { run: { paths: 'files' } },
  payload: REPLAY_PAYLOAD,
  async run({ run: named, agent, url, promote: test, force = false, ...args }, context) {
    checkArgs({ ...args, promote: test }, context);
    const port = parsePort(args['inspect-port'] ?? '9229');
    const root = findRoot(context.cwd);
    const target = test === undefined ? undefined : checkPromotion(resolve(context.cwd, test), { force });
    const history = await readHistory(named, { agent, url }, context);
    const brk = args['inspect-brk'] === true;
    const inspector =
      args.inspect || brk ? await openInspector({ port, wait: brk, say: (line) => void context.say(line) }) : undefined;
    try {
      const isLive = args.step === true || inspector !== undefined;
      const replayed = await lead(history, { root, context, inspector, isLive, step: args.step, until: args.until });
      if (args.until !== undefined) checkUntil(args.until, replayed);
      const promoted = target === undefined ? null : promote({ history, replayed, root, file: target });
      const hint = promoted === null ? undefined : findTestHint(promoted);
      const { runId, name, status } = history.run;
      return {
        data: { runId, name, status, ...replayed, promoted },
        human: (style) => formatReplayed(history, { replayed, promoted, isLive }, style),
        ...(hint === undefined ? {} : { hint }),
        closed: Promise.resolve(FAILED.includes(replayed.outcome) ? EXIT.generic : EXIT.ok),
      };
    } finally {
      await inspector?.close();
    }
  },
});

// --- internal ---

const FAILED: readonly string[] = ['differs', 'stuck'];

interface Leading {
  root: string;
  context: Context;
  inspector: Inspector | undefined;
  /** Steps are printed as they are passed. */
  isLive: boolean;
  step: boolean | undefined;
  until: string | undefined;
}

async function lead(history: History, leading: Leading): Promise<Replayed> {
  const { root, context, inspector, isLive, step, until } = leading;
  const [{ replayRecording }, { openHost }] = await Promise.all([
    import('@svc/runtime/host'),
    import('../../dev/host.ts'),
  ]);
  const host = await openHost({ root, say: (line) => context.trace(line) });
  const stepper = step ? createStepper((line) => context.say(line)) : undefined;
  try {
    return await replayRecording(history, host.program(), {
      onAnswer(call: ReplayedCall) {
        if (isLive) context.say(formatCall(call));
        stepper?.passed();
      },
      ...(stepper ? { beforeNext: () => stepper.wait() } : {}),
      ...(until === undefined ? {} : { until }),
      // A reader of a line takes time.
      ...(inspector || stepper ? { patienceMs: Infinity } : {}),
      ...(inspector ? { beforeBody: inspector.pause } : {}),
    });
  } catch (error) {
    throw toCliError(error);
  } finally {
    stepper?.close();
    await host.close();
  }
}

function checkArgs(
  { step, until, promote: test }: { step?: boolean; until?: string; promote?: string | undefined },
  { json }: Pick<Context, 'json'>,
): void {
  if (step && json) throw usageError('--step asks a person, and --json is for programs.', 'Leave one of them out.');
  if (until !== undefined && test !== undefined)
    throw usageError('--promote takes a whole history, and --until a part of one.', 'Leave one of them out.');
}

/** A replay that was to stop and did not would look like one that passed. One that differs says so itself. */
function checkUntil(until: string, { outcome, calls }: Replayed): void {
  if (!UNSTOPPED.includes(outcome)) return;
  const shown = calls.slice(0, CALLS_SHOWN).map(({ call, name }) => `${call} (${name})`);
  const more = calls.length > shown.length ? ` and ${calls.length - shown.length} more` : '';
  throw usageError(
    `--until does not take "${until}": the run has no answered call of that number or name.`,
    calls.length === 0 ? 'It has none at all: leave --until out.' : `Its calls are ${shown.join(', ')}${more}.`,
  );
}

const UNSTOPPED: readonly string[] = ['same', 'open'];
const CALLS_SHOWN = 20;

function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : -1;
  if (port >= 0 && port <= 65_535) return port;
  throw usageError(
    `--inspect-port does not take "${text}".`,
    'Use a whole number from 0 to 65535; 0 takes a free one.',
  );
}

function findRoot(cwd: string): string {
  const root = realpathSync(findProject(cwd) ?? cwd);
  checkFolder(root, 'svc replay', { takesFolder: false });
  return root;
}

/** What the runtime refuses keeps its code. */
function toCliError(error: unknown): unknown {
  const { code, message = '', details = {} } = error as Partial<CliError>;
  if (error instanceof CliError || typeof code !== 'string' || !/^[a-z_]+$/.test(code)) return error;
  return new CliError(code, message, { details, exitCode: EXIT.generic });
}
