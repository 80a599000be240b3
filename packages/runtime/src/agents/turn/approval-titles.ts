import type { ToolCall } from '../model/messages.ts';
import { parseArguments } from './tool-answer.ts';
import type { ToolTurn } from './tool-turn.ts';

/** What a person is asked about each of these calls, by their ids. */
export type ApprovalTitles = ReadonlyMap<string, string>;

/**
 * A title that is a function is asked once, in a step of the turn: a replay asks under the words that were shown. One
 * that throws, or gives no text, leaves the default title, and the log says so.
 */
export async function readTitles(turn: ToolTurn, calls: readonly ToolCall[]): Promise<ApprovalTitles> {
  const asked = calls.filter(({ name }) => typeof titleOf(turn, name) === 'function');
  const made = await recordTitles(turn, asked);
  return new Map(calls.map((call) => [call.id, made.get(call.id) ?? toFixed(turn, call)]));
}

// --- internal ---

/** Characters of a title that are shown. */
const LONGEST = 500;
const NOTHING: ApprovalTitles = new Map();

function titleOf({ options }: ToolTurn, name: string) {
  return options.toolset.interruptOf(name)?.title;
}

function toFixed(turn: ToolTurn, { name }: ToolCall): string {
  const title = titleOf(turn, name);
  return typeof title === 'string' ? title : defaultOf(name);
}

function defaultOf(name: string): string {
  return `Run "${name}"?`;
}

async function recordTitles(turn: ToolTurn, asked: readonly ToolCall[]): Promise<ApprovalTitles> {
  if (asked.length === 0) return NOTHING;
  const input = { calls: asked.map(({ id, name }) => ({ id, name })) };
  const run = () => asked.map((call) => [call.id, makeTitle(turn, call)]);
  return new Map((await turn.invoke('step', 'title', input, { name: 'title', run })) as [string, string][]);
}

function makeTitle(turn: ToolTurn, call: ToolCall): string {
  const make = titleOf(turn, call.name);
  const parsed = parseArguments(call.arguments);
  try {
    const title: unknown = typeof make === 'function' ? make(parsed.ok ? parsed.value : {}) : make;
    if (typeof title === 'string' && title.trim() !== '') return toBounded(title);
    // What an async function throws is no one else's.
    if (title instanceof Promise) title.catch(() => undefined);
    warn(turn, call, `gave ${title instanceof Promise ? 'a promise' : 'no text'}`);
  } catch (error) {
    warn(turn, call, `threw: ${error instanceof Error ? error.message : String(error)}`);
  }
  return defaultOf(call.name);
}

function toBounded(title: string): string {
  const text = title.toWellFormed();
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST).replace(/[\ud800-\udbff]$/, '')}…`;
}

function warn({ options, execution }: ToolTurn, { name }: ToolCall, what: string): void {
  const message = `The title of "interruptOn.${name}" of the agent "${options.agent.name}" ${what}. The default is shown.`;
  execution.ambient.log({ level: 'warn', message, run: execution.run });
}
