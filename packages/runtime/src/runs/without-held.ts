import type { ModelReply } from '../agents/model/read-reply.ts';
import type { TurnInput } from '../agents/turn/input.ts';
import type { RecordedAnswer } from '../agents/turn/recorded-answer.ts';
import { readDetail, WITHHELD } from '../approvals/approval.ts';
import { isOfText } from '../approvals/held-text.ts';
import { heldOf } from '../engine/box-marks.ts';
import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import type { BriefRun } from '../engine/journal/reading.ts';
import type { JournalRecord } from '../engine/journal/record.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { decode, encode } from '../engine/serialize.ts';
import { isRef } from '../engine/values/large-ref.ts';

/** What runs are read of. */
export interface RunSources {
  journal: Journal;
  engine: Engine;
}

/**
 * The same for a model, which a tool answers: without what a guardrail holds. An input is there once it is approved; of a result
 * and of a reply the record that waits is without its text for good, as what was decided is recorded behind it.
 */
export function withoutHeld({ journal, engine }: RunSources): RunSources {
  const hide = createHide(journal);
  const hideAll = async <R extends RunRow>(rows: Promise<R[]>): Promise<R[]> => Promise.all((await rows).map(hide));
  const hideOne = async (row: Promise<RunRow | undefined>): Promise<RunRow | undefined> => {
    const found = await row;
    return found && hide(found);
  };
  const hideRecords = async (records: Promise<JournalRecord[]>): Promise<JournalRecord[]> =>
    (await records).map(withoutText);
  const seen: Partial<Journal> = {
    getRun: (runId) => hideOne(journal.getRun(runId)),
    getLastRun: (runId) => hideOne(journal.getLastRun(runId)),
    listRuns: (...asked) => hideAll(journal.listRuns(...asked)),
    listBriefRuns: (...asked) => hideAll(journal.listBriefRuns(...asked)),
    getRecords: (runId) => hideRecords(journal.getRecords(runId)),
    listRecords: (...asked) => hideRecords(journal.listRecords(...asked)),
    listCalls: (...asked) => hideRecords(journal.listCalls(...asked)),
  };
  const looked: Partial<Engine> = {
    wait: (...asked) => hideOne(engine.wait(...asked)),
    whole: async (text) => withoutPayloadOf(withoutTextOf(await engine.whole(text))),
  };
  return { journal: over(journal, seen), engine: over(engine, looked) };
}

/**
 * Whether a run was asked with what a guardrail holds, or has refused. What a run continues with is not what was held; what was
 * approved once is for the retries of its run, too.
 */
export async function isHeldFrom(journal: Pick<Journal, 'hooks' | 'getRun'>, run: RunRow): Promise<boolean> {
  if (run.continuedFrom !== null || !isMarked(run)) return false;
  let one: RunRow | undefined = run;
  for (let asked = 0; one && asked < MOST_RETRIES; asked++) {
    if (await isApproved(journal.hooks, one.runId)) return false;
    // What a fork begins with may be another input.
    const isRetry: boolean = one.trigger !== 'fork' && one.trigger !== 'rewind';
    one = one.retryOf !== null && isRetry ? await journal.getRun(one.retryOf) : undefined;
  }
  return true;
}

// --- internal ---

const PAGE = 100;
/** Of a run that was retried again and again, so many are asked. */
const MOST_RETRIES = 20;

/** The mark of a turn that a box before has begun is in its input alone. */
function isMarked(run: RunRow): boolean {
  if (heldOf(run) !== undefined) return true;
  if (run.kind !== 'agent' || isRef(run.input) || !run.input.includes('"held"')) return false;
  const { cut = [] } = run as Partial<BriefRun>;
  return !cut.includes('input') && (decode(run.input) as TurnInput).held !== undefined;
}

async function isApproved(hooks: Journal['hooks'], runId: string): Promise<boolean> {
  const filter = { kind: 'approval', runId, verdict: 'approved' } as const;
  for (let after = {}; ;) {
    const entries = await hooks.listBriefEntries(filter, { limit: PAGE, ...after });
    if (entries.some(({ hook }) => isOfInput(readDetail(hook)))) return true;
    const last = entries.at(-1);
    if (!last || entries.length < PAGE) return false;
    after = { after: last.hook };
  }
}

function over<T extends object>(whole: T, members: Partial<T>): T {
  return Object.assign(Object.create(whole) as T, members);
}

function isOfInput(asked: object): boolean {
  return isOfText(asked) && asked.side.endsWith('-input');
}

function createHide(journal: Pick<Journal, 'hooks' | 'getRun'>) {
  return async <R extends RunRow>(run: R): Promise<R> => {
    if (!(await isHeldFrom(journal, run))) return run;
    const { cut = [] } = run as Partial<BriefRun>;
    const isWhole = !cut.includes('input') && !isRef(run.input);
    const input = run.kind === 'workflow' ? encode(WITHHELD, 'input') : toAsked(isWhole ? run.input : undefined);
    return { ...run, input, ...('cut' in run ? { cut: cut.filter((member) => member !== 'input') } : {}) };
  };
}

/** What a turn was asked with, of which the messages that are new are withheld. */
function toAsked(input: string | undefined): string {
  const given = (input === undefined ? NOTHING : decode(input)) as TurnInput;
  const from = given.held?.from ?? 0;
  const system = given.system.map(() => WITHHELD);
  const messages = given.messages.map((message, index) =>
    index < from ? message : { id: message.id, role: message.role, content: WITHHELD },
  );
  return encode({ ...given, system, messages }, 'input');
}

const NOTHING = {
  model: '',
  system: [],
  messages: [{ id: 'withheld', role: 'user', content: WITHHELD }],
  tools: [],
  parameters: {},
};

function withoutText(record: JournalRecord): JournalRecord {
  const { kind, input, output } = record;
  if (kind === 'hook' && input !== null) {
    const shown = withoutPayloadOf(input);
    return shown === input ? record : { ...record, input: shown };
  }
  if (output === null || (kind !== 'model' && kind !== 'tool')) return record;
  const shown = withoutTextOf(output);
  return shown === output ? record : { ...record, output: shown };
}

/** How an approval is asked for, as it is recorded. */
function withoutPayloadOf(text: string): string {
  if (isRef(text) || !text.includes('"side"')) return text;
  const asked = Object(decode(text)) as { detail?: object };
  if (!asked.detail || !isOfText(asked.detail)) return text;
  return encode({ ...asked, detail: { ...asked.detail, payload: WITHHELD } }, 'input');
}

/** The record of an answer or of a reply, as it is recorded. */
function withoutTextOf(text: string): string {
  if (isRef(text) || !text.includes('"held')) return text;
  const recorded = Object(decode(text)) as Partial<RecordedAnswer> & Pick<ModelReply, 'heldOutput'>;
  const { held, heldOutput } = recorded;
  if (heldOutput?.ruleId !== undefined) {
    const toolCalls = heldOutput.toolCalls.map((call) => ({ ...call, arguments: '' }));
    return encode(
      { ...recorded, heldOutput: { ...heldOutput, content: WITHHELD, reasoning: '', toolCalls } },
      'output',
    );
  }
  if (held?.ruleId === undefined) return text;
  return encode({ ...recorded, held: { ...held, content: WITHHELD } }, 'output');
}
