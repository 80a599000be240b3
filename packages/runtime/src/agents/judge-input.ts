import type { Guardrails } from '../guardrails/guardrails.ts';
import { createFindings, judgeText, judgeValue } from '../guardrails/judge.ts';
import type { Findings, Judged } from '../guardrails/judge.ts';
import { toRefusal } from '../guardrails/refusal.ts';
import type { SideRules } from '../guardrails/rules.ts';
import type { ConversationMessage, TurnInput } from './turn/input.ts';

/** What turns ask of the rules. */
export type TurnGuardrails = Pick<Guardrails, 'rules' | 'record'>;

/**
 * What a turn is asked with, as it may be recorded. Throws `agent_guardrail_blocked`, which names the rule, and
 * `store_unavailable` while the rules cannot be read. A client that has no session sends the conversation each time: all of
 * it is masked, and what needs the whole of a text judges what is new.
 */
export async function judgeTurnInput(
  guardrails: TurnGuardrails | undefined,
  { name, runId }: { name: string; runId: string },
  input: TurnInput,
): Promise<TurnInput> {
  const asked = guardrails?.rules();
  const all = asked instanceof Promise ? await asked : asked;
  if (!guardrails || !all) return input;
  const place = { kind: 'agent', name } as const;
  const rules = all.find(place, 'agent-input');
  const resultRules = all.find(place, 'tool-result');
  if (!rules && !resultRules) return input;
  const newFrom = input.messages.findLastIndex(({ role }) => role === 'assistant') + 1;
  const findings = createFindings();
  const judgedResults = createFindings();
  const system = [];
  const messages = [];
  const [olderRules, olderResultRules] = [rules, resultRules].map((one) => one && withoutWholes(one));
  for (const text of input.system) system.push(await readText(rules, text, findings));
  for (const [index, message] of input.messages.entries()) {
    const isNew = index >= newFrom;
    if (message.role === 'tool')
      messages.push(await readResult(isNew ? resultRules : olderResultRules, message, judgedResults));
    else messages.push(await readMessage(isNew ? rules : olderRules, message, findings));
  }
  const { blocked, found } = findings.toAnswer();
  // What is refused has no run.
  const of = { place: `agent ${name}`, runId: blocked ? null : runId };
  guardrails.record(found, { side: 'agent-input', ...of });
  guardrails.record(judgedResults.toAnswer().found, { side: 'tool-result', ...of });
  if (blocked)
    throw toRefusal(
      'agent_guardrail_blocked',
      `refuses what agent "${name}" is asked. Ask without what it looks for.`,
      blocked,
    );
  return { ...input, system, messages };
}

/** What the model reads of a result that a rule keeps from it. */
export function toWithheld(rule: string): string {
  return `The guardrail "${rule}" withholds this result.`;
}

// --- internal ---

function withoutWholes(rules: SideRules): SideRules {
  return { ...rules, wholes: [] };
}

async function readText(rules: SideRules | undefined, text: string, findings: Findings): Promise<string> {
  if (!rules || findings.blocked) return text;
  const judged = await judgeText(rules, text);
  for (const found of judged.found) findings.add(found);
  return judged.value;
}

async function readMessage(
  rules: SideRules | undefined,
  message: ConversationMessage,
  findings: Findings,
): Promise<ConversationMessage> {
  if (!rules) return message;
  const content = await readContent(message.content, (text) => readText(rules, text, findings));
  if (message.role !== 'assistant' || !message.tool_calls) return { ...message, content } as ConversationMessage;
  const calls = [];
  for (const call of message.tool_calls) {
    const judged = await judgeArguments(withoutWholes(rules), call.function.arguments);
    for (const found of judged.found) findings.add(found);
    calls.push({ ...call, function: { ...call.function, arguments: judged.value } });
  }
  return { ...message, content, tool_calls: calls } as ConversationMessage;
}

async function readResult(
  rules: SideRules | undefined,
  message: ConversationMessage,
  findings: Findings,
): Promise<ConversationMessage> {
  if (!rules) return message;
  const own = createFindings();
  const content = await readContent(message.content, (text) => readText(rules, text, own));
  const { blocked, found } = own.toAnswer();
  for (const one of found) findings.add(one);
  return { ...message, content: blocked ? toWithheld(blocked.rule.name) : content } as ConversationMessage;
}

/** Text, or parts of which some are. */
async function readContent(content: unknown, read: (text: string) => Promise<string>): Promise<unknown> {
  if (typeof content === 'string') return read(content);
  if (!Array.isArray(content)) return content;
  const parts: unknown[] = [];
  for (const part of content as unknown[]) {
    const text = (part as { text?: unknown } | null)?.text;
    parts.push(typeof text === 'string' ? { ...(part as object), text: await read(text) } : part);
  }
  return parts;
}

/** The arguments of a call, as JSON again; of what is none, the text. */
export async function judgeArguments(rules: SideRules, args: string): Promise<Judged<string>> {
  let value: unknown;
  try {
    value = JSON.parse(args);
  } catch {
    return judgeText(rules, args);
  }
  const judged = await judgeValue(rules, value);
  const isAsWritten = judged.value === value && (await judgeText(withoutWholes(rules), args)).found.length === 0;
  // A name that is there twice has a value that no one reads.
  return { ...judged, value: isAsWritten ? args : JSON.stringify(judged.value) };
}
