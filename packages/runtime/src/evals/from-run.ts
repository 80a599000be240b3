import type { TurnInput, ConversationMessage } from '../agents/turn/input.ts';
import type { Caller } from '../auth/caller.ts';
import { hiddenFrom, isHidden } from '../auth/visibility.ts';
import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import { isFinal } from '../engine/journal/run.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { decode } from '../engine/serialize.ts';
import { BoxError } from '../errors.ts';
import { toShownValue } from '../json-value.ts';
import type { Mask } from '../mask.ts';
import { isHeldFrom } from '../runs/without-held.ts';
import type { EvalInput, NewCase } from './case.ts';
import type { Observe } from './observed.ts';
import { toStorableText } from './paging.ts';

/** What a run was asked, and what it answered, as a case. Throws `run_not_found`, and `run_not_final` while it goes on. */
export type ReadCase = (
  runId: string,
  caller: Caller,
) => Promise<Pick<NewCase, 'name' | 'target' | 'input' | 'expected'>>;

export interface ReadCaseOptions {
  journal: Pick<Journal, 'getRun' | 'hooks'>;
  engine: Pick<Engine, 'whole'>;
  observe: Observe;
  /** All that was said in a session. */
  readSession(sessionId: string): Promise<ConversationMessage[]>;
  mask: Pick<Mask, 'text'>;
}

/** Secrets of the box are hidden in what it answers. */
export function createReadCase({ journal, engine, observe, readSession, mask }: ReadCaseOptions): ReadCase {
  const toInput = createReadInput({ engine, readSession });
  const hide = <T>(value: T): T => (value === undefined ? value : (JSON.parse(mask.text(JSON.stringify(value))) as T));
  return async (runId, caller) => {
    const run = await journal.getRun(runId);
    if (!run || isHidden(run, hiddenFrom(caller))) throw new BoxError('run_not_found', `There is no run "${runId}".`);
    if (!isFinal(run.status))
      throw new BoxError('run_not_final', `The run is ${run.status}; a case is made of one that has ended.`);
    if (caller.via !== undefined && (await isHeldFrom(journal, run)))
      throw new BoxError('forbidden', 'A guardrail has held what this run was asked. A person makes a case of it.');
    const input = hide(await toInput(run));
    const observed = run.status === 'completed' ? await observe(runId) : undefined;
    return {
      name: toStorableText('value' in input ? `${run.name} ${runId.slice(0, 8)}` : input.message.trim(), 80),
      target: { kind: run.kind, name: run.name },
      input,
      expected: observed ? { value: hide(observed.output) } : null,
    };
  };
}

/** What a run was asked: of a turn, with what was said in its session before it. */
export function createReadInput({ engine, readSession }: Pick<ReadCaseOptions, 'engine' | 'readSession'>) {
  return async (run: RunRow): Promise<EvalInput> => {
    if (run.kind === 'workflow') return { value: toShownValue(await engine.whole(run.input)) };
    const { messages, session } = decode(run.input) as TurnInput;
    const all = session && run.sessionId !== null ? await readSession(run.sessionId) : [];
    const turn = all.findIndex(({ id }) => id === messages[0]?.id);
    return toSaid(run, [...all.slice(0, Math.max(0, turn)), ...messages]);
  };
}

// --- internal ---

/** The last message of a person, and the texts before it. */
function toSaid({ runId }: RunRow, messages: readonly ConversationMessage[]): EvalInput {
  const said = messages.flatMap(({ role, content }) => {
    const text = toText(content);
    return (role === 'user' || role === 'assistant') && text !== '' ? [{ role, content: text }] : [];
  });
  const last = said.findLastIndex(({ role }) => role === 'user');
  const asked = said[last];
  if (!asked) throw new BoxError('invalid_request', `The run "${runId}" has no message of a user.`);
  return { message: asked.content, before: said.slice(Math.max(0, last - MOST_BEFORE), last) };
}

const MOST_BEFORE = 100;

function toText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  const texts = content.map((part: unknown) => (part as { text?: unknown } | null)?.text);
  return texts.filter((text) => typeof text === 'string').join('\n');
}
