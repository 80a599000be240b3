import { createFindings } from '../../guardrails/findings.ts';
import type { Findings } from '../../guardrails/findings.ts';
import { judgeText } from '../../guardrails/judge.ts';
import { askOwn, toSpanRules } from '../../guardrails/own-check.ts';
import type { OwnPlaces } from '../../guardrails/own-check.ts';
import type { SideRules, SpanRule } from '../../guardrails/rules.ts';
import { createTextStream } from '../../guardrails/text-stream.ts';
import type { Found, TextStream } from '../../guardrails/text-stream.ts';
import { judgeArguments } from '../judge-input.ts';
import { beginsAsJson, judgeJson, readJson } from '../../guardrails/judge-json.ts';
import type { HeldCall } from '../model/read-reply.ts';
import { createReplyOut } from './reply-out.ts';
import type { FilteredHold, OpenPart, ReplyOut } from './reply-out.ts';
import type { Emit, TurnEvent } from '../events/turn-events.ts';

export interface FilterRules {
  output: SideRules | undefined;
  call: SideRules | undefined;
  /** Whether a call of this tool can wait for an operator. One that cannot is refused where a rule would hold it. */
  canHold(tool: string): boolean;
  signal: AbortSignal;
}

/** Stands between a reply and its readers. */
export interface ReplyFilter {
  /** Takes the reply part by part, and emits of it what may pass, as it comes where that can be said. */
  emit: Emit;
  /** Judges and emits the rest, once the reply is whole. */
  settle(): Promise<FilteredReply>;
}

export interface FilteredReply {
  content: string;
  reasoning: string;
  /** Arguments as they passed, by call. */
  calls: ReadonlyMap<string, string>;
  /** The calls that wait for an operator. */
  held: HeldCall[];
  /** All of the reply, and what holds it: what is above is what was emitted before. Undefined: nothing does. */
  heldOutput: FilteredHold | undefined;
  /** The name of the rule that ended the reply. Undefined: none. */
  blockedBy: string | undefined;
  foundInOutput: readonly Found[];
  foundInCalls: readonly Found[];
}

/**
 * Texts are passed on while they come, but for the end that may be a part of something. What needs all of a text, or of
 * the arguments of a call, holds that and whatever comes behind it until the reply is whole; and so does an answer that is JSON,
 * which is judged as the values it is read as.
 */
export function createReplyFilter({ output, call, canHold, signal }: FilterRules, emitOut: Emit): ReplyFilter {
  const out = createReplyOut(emitOut);
  const { emit } = out;
  const own = createOwnOf(output);
  const calls = new Map<string, string>();
  const findings = { output: createFindings(), call: createFindings() };
  const waiting: HeldCall[] = [];
  let held: TurnEvent[] | undefined;
  const opening = createOpening();
  /** An answer that is JSON, as it passed. */
  let answer: string | undefined;
  let blockedBy: string | undefined;

  const block = ({ rule }: Found): void => void (blockedBy ??= rule.name);
  const texts = createTexts(output, { own, out, findings: findings.output, block });

  const judgeHeld = async (events: readonly TurnEvent[]): Promise<void> => {
    const parts = toParts(events);
    const json = output && opening.mayBeJson ? readJson(textOf(parts, 'text')) : undefined;
    if (json && output) {
      const judged = await judgeJson(output, json, { signal });
      answer = judged.value;
      take(judged.found, findings.output);
    }
    for (const kind of KINDS)
      if (blockedBy === undefined && (kind !== 'text' || !json)) take(await own.ask(kind, parts), findings.output);
    for (const part of parts) {
      if (blockedBy !== undefined) return;
      // Its places are found when it is emitted.
      if (part.kind === 'text' && output)
        take((await judgeText({ ...output, spans: [], own: [] }, part.text, { signal })).found, findings.output);
      if (part.kind === 'tool' && call) {
        const judged = await judgeArguments(call, part.text, { tool: part.name, signal });
        take(judged.found, findings.call);
        calls.set(part.id, judged.value);
        if (judged.held && canHold(part.name))
          waiting.push({ callId: part.id, rule: judged.held.rule.name, ruleId: judged.held.rule.id });
        else if (judged.held) block(judged.held);
      }
    }
  };
  const take = (found: readonly Found[], into: Findings): void => {
    for (const one of found) {
      into.add(one);
      if (one.isApplied && one.rule.action === 'block') block(one);
      if (one.isApplied && one.rule.action === 'hold' && into === findings.output) out.hold(one);
    }
  };
  const writeAnswer = (id: string): void => {
    const part: OpenPart = { kind: 'text', id, isBegun: false };
    out.write(part, answer ?? '');
    out.end(part);
    answer = '';
  };
  const emitHeld = (events: readonly TurnEvent[]): void => {
    for (const event of holdsAny(output) ? withCallsLast(events) : events) {
      if (blockedBy !== undefined) return texts.close();
      if (answer !== undefined && event.type.startsWith('text.')) {
        if (event.type === 'text.start') writeAnswer(event.id);
        continue;
      }
      if (texts.read(event)) continue;
      const args = 'callId' in event && event.callId !== undefined ? calls.get(event.callId) : undefined;
      emitWith(args, event, emit);
    }
  };

  const emitOne = (event: TurnEvent): void => {
    if (blockedBy !== undefined) return;
    if (!held && (mustHold(event, { output, call }) || (output && opening.begins(event)))) {
      texts.close();
      held = [];
    }
    if (!held) {
      if (!texts.read(event)) emit(event);
      return;
    }
    held.push(event);
    if (!opening.isNoJson(event)) return;
    const events = held;
    held = undefined;
    for (const one of events) emitOne(one);
  };

  return {
    emit: emitOne,
    async settle() {
      texts.close();
      if (held) {
        await judgeHeld(held);
        if (blockedBy === undefined) emitHeld(held);
      }
      return {
        ...toTexts(out, blockedBy),
        calls,
        held: waiting,
        blockedBy,
        foundInOutput: findings.output.toAnswer().found,
        foundInCalls: findings.call.toAnswer().found,
      };
    },
  };
}

// --- internal ---

function toTexts(
  out: ReplyOut,
  blockedBy: string | undefined,
): Pick<FilteredReply, 'content' | 'reasoning' | 'heldOutput'> {
  const { text: content, reasoning } = out.said();
  return { content, reasoning, heldOutput: blockedBy === undefined ? out.rest() : undefined };
}

/** Of a call the arguments as they passed. Undefined: nothing has judged them. */
function emitWith(args: string | undefined, event: TurnEvent, emit: Emit): void {
  if (event.type === 'tool.args' && args !== undefined) return;
  if (event.type !== 'tool.end' || args === undefined) return emit(event);
  if (args !== '') emit({ type: 'tool.args', callId: event.callId, delta: args });
  emit({ ...event, args });
}

/** From here on the reply has to be whole. A call goes with the texts behind it: they may wait, and then it does. */
function mustHold({ type }: TurnEvent, { output, call }: Pick<FilterRules, 'output' | 'call'>): boolean {
  if (type === 'tool.start') return call !== undefined || holdsAny(output);
  if (!output) return false;
  if (type === 'text.start') return output.wholes.length + output.own.length > 0;
  return type === 'reasoning.start' && output.own.length > 0;
}

function holdsAny(output: SideRules | undefined): boolean {
  return output?.all.some(({ action }) => action === 'hold') ?? false;
}

/** As the reply is recorded: a place in any of its texts may hold its calls. */
function withCallsLast(events: readonly TurnEvent[]): TurnEvent[] {
  const isOfCall = ({ type }: TurnEvent): boolean => type.startsWith('tool.');
  return [...events.filter((event) => !isOfCall(event)), ...events.filter(isOfCall)];
}

/** The texts of a reply while they come, as far as they may pass. */
function createTexts(
  output: SideRules | undefined,
  { own, out, findings, block }: { own: OwnTexts; out: ReplyOut; findings: Findings; block(by: Found): void },
) {
  /** A text that something interrupts goes on behind it, and so does what is in it. */
  const tails = { text: '', reasoning: '' };
  let open: (OpenPart & { stream: TextStream; passed: number }) | undefined;

  const pass = (text: string): void => {
    if (!open) return;
    const { held: by } = open.stream;
    const before = by && !out.isHeld ? by.from - open.passed : text.length;
    open.passed += text.length;
    out.write(open, text.slice(0, before));
    if (by) out.hold(by.by, open);
    out.write(open, text.slice(before));
  };
  const close = (): void => {
    if (!open) return;
    const { kind, stream } = open;
    pass(stream.end());
    out.end(open);
    tails[kind] = stream.tail;
    for (const found of stream.found) findings.add(found);
    if (stream.blocked) block(stream.blocked);
    open = undefined;
  };
  /** Answers whether it was a part of a text. */
  const read = (event: TurnEvent): boolean => {
    if (event.type === 'text.logprobs') return output !== undefined;
    if (!output) return false;
    if (event.type === 'text.start' || event.type === 'reasoning.start') {
      const kind = event.type === 'text.start' ? 'text' : 'reasoning';
      const before = tails[kind];
      open = {
        kind,
        id: event.id,
        stream: createTextStream(own.rulesFor(kind, before), before),
        isBegun: false,
        passed: 0,
      };
    } else if (event.type === 'text.delta' || event.type === 'reasoning.delta') {
      if (open) {
        own.read(open.kind, event.text);
        pass(open.stream.push(event.text));
      }
      if (open?.stream.blocked) close();
    } else if (event.type === 'text.end' || event.type === 'reasoning.end') close();
    else return false;
    return true;
  };
  return { read, close };
}

/** The first text of a reply, until enough of it has come to say whether it may be JSON. */
function createOpening() {
  let state: 'none' | 'begun' | 'known' = 'none';
  let text = '';
  let mayBeJson = true;
  return {
    get mayBeJson() {
      return mayBeJson;
    },
    /** It begins here, and is not passed on yet. */
    begins({ type }: TurnEvent): boolean {
      if (state !== 'none' || type !== 'text.start') return false;
      state = 'begun';
      return true;
    },
    /** From this part of it on it is known to be none. */
    isNoJson(event: TurnEvent): boolean {
      if (state !== 'begun' || event.type !== 'text.delta') return false;
      text += event.text;
      const is = beginsAsJson(text);
      if (is === undefined) return false;
      state = 'known';
      mayBeJson = is;
      return !is;
    },
  };
}

const KINDS = ['reasoning', 'text'] as const;
type Kind = (typeof KINDS)[number];

type OwnTexts = ReturnType<typeof createOwnOf>;

/** What checks in code have found in the texts of a reply, of which one that something interrupts is one to them. */
function createOwnOf(output: SideRules | undefined) {
  const places: Record<Kind, OwnPlaces> = { text: [], reasoning: [] };
  const from = { text: 0, reasoning: 0 };
  return {
    async ask(kind: Kind, parts: readonly Part[]): Promise<readonly Found[]> {
      const text = textOf(parts, kind);
      if (!output || output.own.length === 0 || text === '') return [];
      const asked = createFindings();
      places[kind] = await askOwn(output, { text }, asked);
      return asked.toAnswer().found;
    },
    /** What finds places in the text that comes next, which goes on with the one before it. */
    rulesFor: (kind: Kind, before: string): readonly SpanRule[] =>
      output ? toSpanRules(output, places[kind], { from: from[kind], at: before.length }) : [],
    read: (kind: Kind, text: string): void => void (from[kind] += text.length),
  };
}

interface Part {
  kind: Kind | 'tool';
  id: string;
  text: string;
  /** Of a call: its tool. */
  name: string;
}

function textOf(parts: readonly Part[], kind: Kind): string {
  return parts.flatMap((part) => (part.kind === kind ? [part.text] : [])).join('');
}

/** Whole texts and calls, in their order. */
function toParts(events: readonly TurnEvent[]): Part[] {
  const parts: Part[] = [];
  const names = new Map<string, string>();
  for (const event of events) {
    if (event.type === 'text.start') parts.push({ kind: 'text', id: event.id, text: '', name: '' });
    else if (event.type === 'reasoning.start') parts.push({ kind: 'reasoning', id: event.id, text: '', name: '' });
    else if (event.type === 'tool.start') names.set(event.callId, event.name);
    else if (event.type === 'tool.end') {
      const { callId: id, args: text } = event;
      parts.push({ kind: 'tool', id, text, name: names.get(id) ?? '' });
    } else if (event.type === 'text.delta' || event.type === 'reasoning.delta') {
      const last = parts.at(-1);
      if (last) last.text += event.text;
    }
  }
  return parts;
}
