import type { Guardrails } from '../guardrails/guardrails.ts';
import { createFindings } from '../guardrails/findings.ts';
import type { Findings, Judged } from '../guardrails/findings.ts';
import { judgeText, judgeValue } from '../guardrails/judge.ts';
import type { About } from '../guardrails/judge.ts';
import { judgeWritten } from '../guardrails/judge-json.ts';
import { writeJson } from '../guardrails/value-texts.ts';
import { toRefusal } from '../guardrails/refusal.ts';
import { asBlocking, withoutHolds, withoutWholes } from '../guardrails/rules.ts';
import { toHeldBy } from '../approvals/held-text.ts';
import { isOfCopilot } from '../definitions/subagents.ts';
import type { SideRules } from '../guardrails/rules.ts';
import type { ConversationMessage, TurnInput } from './turn/input.ts';

/** What turns ask of the rules. */
export type TurnGuardrails = Pick<Guardrails, 'rules' | 'record'>;

/**
 * What a turn is asked with, as it may be recorded. Throws `agent_guardrail_blocked`, which names the rule, and
 * `store_unavailable` while the rules cannot be read. A client that has no session sends the conversation each time: all of
 * it is masked, and what needs the whole of a text, or holds it, judges what is new. What a rule holds says so.
 */
export async function judgeTurnInput(
  guardrails: TurnGuardrails | undefined,
  { name, runId, askedBy, passed = NONE, signal }: JudgedTurn,
  input: TurnInput,
): Promise<TurnInput> {
  const known = guardrails?.rules();
  const all = known instanceof Promise ? await known : known;
  if (!guardrails || !all) return input;
  const place = { kind: 'agent', name } as const;
  const asked = all.find(place, 'agent-input');
  // What the copilot waits for is for the person who asks it, and in no inbox.
  const rules = asked && isOfCopilot(name) ? asBlocking(asked) : asked;
  const given = all.find(place, 'tool-result');
  // A result that a client brings comes with what it asks.
  const resultRules = given && asBlocking(given);
  if (!rules && !resultRules) return input;
  // A session has what comes again: all there is of an input on one is new, whatever a client takes for an answer.
  const newFrom = input.session ? 0 : input.messages.findLastIndex(({ role }) => role === 'assistant') + 1;
  const findings = createFindings();
  const judgedResults = createFindings();
  const about: About = { spent: new Map<string, number>(), signal };
  const texts = { findings, about };
  const results = { findings: judgedResults, about };
  const system = [];
  const messages = [];
  const olderRules = rules && withoutHolds(withoutWholes(rules));
  const olderResultRules = resultRules && withoutWholes(resultRules);
  const passedRules = given && withoutHolds(withoutWholes(given));
  const rulesOf = (callId: string, isNew: boolean): SideRules | undefined => {
    if (passed.has(callId)) return passedRules;
    return isNew ? resultRules : olderResultRules;
  };
  for (const text of input.system) system.push(await readText(rules, text, texts));
  for (const [index, message] of input.messages.entries()) {
    const isNew = index >= newFrom;
    if (message.role === 'tool')
      messages.push(await readResult(rulesOf(message.tool_call_id, isNew), message, results));
    else messages.push(await readMessage(isNew ? rules : olderRules, message, texts));
  }
  const parameters = rules ? await readParameters(rules, input.parameters, texts) : input.parameters;
  const { blocked, held, found } = findings.toAnswer();
  // What is refused has no run.
  const of = { place: `agent ${name}`, runId: blocked ? null : runId, askedBy };
  guardrails.record(found, { side: 'agent-input', ...of });
  guardrails.record(judgedResults.toAnswer().found, { side: 'tool-result', ...of });
  if (blocked)
    throw toRefusal(
      'agent_guardrail_blocked',
      `refuses what agent "${name}" is asked. Ask without what it looks for.`,
      blocked,
    );
  const judged = { ...input, system, messages, parameters };
  return held ? { ...judged, held: { ...toHeldBy(held), from: newFrom } } : judged;
}

/** What the model reads of a result that a rule keeps from it. */
export function toWithheld(rule: string): string {
  return `The guardrail "${rule}" withholds this result.`;
}

// --- internal ---

interface JudgedTurn {
  name: string;
  runId: string;
  askedBy?: string | undefined;
  /** Calls whose results the box itself has put there: the turn that had them has judged them, and whoever decides has let them pass. */
  passed?: ReadonlySet<string>;
  signal?: AbortSignal | undefined;
}

const NONE: ReadonlySet<string> = new Set();

/** All texts of an input, which are judged one after the other. */
interface Input {
  findings: Findings;
  about: About;
}

async function readText(rules: SideRules | undefined, text: string, { findings, about }: Input): Promise<string> {
  if (!rules || findings.blocked) return text;
  const judged = await judgeText(rules, text, about);
  for (const found of judged.found) findings.add(found);
  return judged.value;
}

async function readMessage(
  rules: SideRules | undefined,
  message: ConversationMessage,
  input: Input,
): Promise<ConversationMessage> {
  if (!rules) return message;
  const content = await readContent(message.content, (text) => readText(rules, text, input));
  if (message.role === 'user' && message.name !== undefined) {
    const { name, ...rest } = message;
    // With a mask in it a provider would refuse it.
    const isKept = (await readText(withoutWholes(rules), name, input)) === name;
    return { ...rest, content, ...(isKept ? { name } : {}) };
  }
  if (message.role !== 'assistant' || !message.tool_calls) return { ...message, content } as ConversationMessage;
  const calls = [];
  for (const call of message.tool_calls) {
    const { findings, about } = input;
    if (findings.blocked) break;
    const judged = await judgeArguments(withoutWholes(rules), call.function.arguments, about);
    for (const found of judged.found) findings.add(found);
    calls.push({ ...call, function: { ...call.function, arguments: judged.value } });
  }
  return { ...message, content, tool_calls: calls } as ConversationMessage;
}

async function readResult(
  rules: SideRules | undefined,
  message: ConversationMessage,
  { findings, about }: Input,
): Promise<ConversationMessage> {
  if (!rules) return message;
  const own = createFindings();
  const content = await readContent(message.content, async (text) => {
    const judged = await judgeWritten(rules, text, about);
    for (const found of judged.found) own.add(found);
    return judged.value;
  });
  const { blocked, found } = own.toAnswer();
  for (const one of found) findings.add(one);
  return { ...message, content: blocked ? toWithheld(blocked.rule.name) : content } as ConversationMessage;
}

/** Text, or parts of which some are. */
async function readContent(content: unknown, read: (text: string) => Promise<string>): Promise<unknown> {
  if (typeof content === 'string') return read(content);
  if (!Array.isArray(content)) return content;
  const parts: unknown[] = [];
  for (const part of content as unknown[]) parts.push(await readPart(part, read));
  return parts;
}

/** What a part says: its text, that of a refusal, or what its file is called. */
async function readPart(part: unknown, read: (text: string) => Promise<string>): Promise<unknown> {
  if (typeof part !== 'object' || part === null) return part;
  const given = part as { text?: unknown; refusal?: unknown; file?: { filename?: unknown } | null };
  const judged: Record<string, unknown> = { ...part };
  for (const member of ['text', 'refusal'] as const) {
    const said = given[member];
    if (typeof said === 'string') judged[member] = await read(said);
  }
  const filename = given.file?.filename;
  if (typeof filename === 'string') judged['file'] = { ...given.file, filename: await read(filename) };
  return judged;
}

/** Of what is handed to the provider, the text that the answer is expected to be like. */
async function readParameters(
  rules: SideRules,
  given: TurnInput['parameters'],
  input: Input,
): Promise<TurnInput['parameters']> {
  const prediction = given['prediction'] as { content?: unknown } | null | undefined;
  if (typeof prediction !== 'object' || prediction === null) return given;
  const content = await readContent(prediction.content, (text) => readText(withoutWholes(rules), text, input));
  return { ...given, prediction: { ...prediction, content } };
}

/** The arguments of a call, as JSON again; of what is none, the text. */
export async function judgeArguments(rules: SideRules, args: string, about: About = {}): Promise<Judged<string>> {
  let value: unknown;
  try {
    value = JSON.parse(args);
  } catch {
    return judgeText(rules, args, about);
  }
  const judged = await judgeValue(rules, value, about);
  // A name that is there twice has a value that no one reads, and no check in code is asked about.
  const isAsWritten =
    judged.value === value &&
    rules.own.length === 0 &&
    (await judgeText({ ...rules, wholes: [] }, args)).found.length === 0;
  return { ...judged, value: isAsWritten ? args : writeJson(judged.value) };
}
