import type { UIMessage } from 'ai';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/index.ts';
import { KEY } from './_agui.ts';
import { call, finish, setupBoxes } from './_setup.ts';
import type { TestBox } from './_setup.ts';
import { openUi, partsOf, textOf } from './_ui-messages.ts';

const boxes = setupBoxes();
let names = 0;

/** A side, what is asked, and what the chat shows of it before and after the decision. */
const HELD = [
  { side: 'agent-input', asks: 'say:It is falcon.', before: '', approved: 'It is falcon.', rejected: '' },
  { side: 'agent-output', asks: 'say:It is falcon.', before: 'It is ', approved: 'It is falcon.', rejected: 'It is ' },
  { side: 'tool-result', asks: 'tool:look {"q":"x"}; say:Done.', before: '', approved: 'Done.', rejected: 'Done.' },
];
const CASES = HELD.flatMap((held) => (['approve', 'reject'] as const).map((decision) => ({ ...held, decision })));

test.each(CASES)('a chat of useChat goes on after a reload: $side, $decision', async (held) => {
  const { side, asks, before, decision } = held;
  const name = `chat-${++names}`;
  const look = defineTool({
    description: 'Looks.',
    inputSchema: z.object({ q: z.string() }),
    execute: () => 'a falcon',
  });
  const helper = defineDeepAgent({ name: 'helper', tools: { look } });
  const { box, url, chat } = await openUi(boxes, { agents: { helper } });
  const rule = await holdFalcons(box, side);
  try {
    const data: object[] = [];
    const one = chat(name, { onData: (part) => void data.push(part) });
    await one.sendMessage({ text: asks });
    expect([one.status, one.error, textOf(one)]).toEqual(['ready', undefined, before]);
    const approvalId = approvalOf(one, data);
    const { body } = await call<{ runId: string }>(box, `GET /api/approvals/${approvalId}`);
    expect(said(one)).not.toContain('falcon');

    // The page is loaded again, while it waits.
    const seen: object[] = [];
    const again = chat(name, { messages: await readChat(url, name), onData: (part) => void seen.push(part) });
    await again.resumeStream();
    expect([again.error, textOf(again), approvalOf(again, seen)]).toEqual([undefined, before, approvalId]);
    expect(said(again)).not.toContain('falcon');

    await call(box, `POST /api/approvals/${approvalId}/decide`, { decision });
    await finish(box, body.runId);
    const later = chat(name, { messages: await readChat(url, name) });
    expect(textOf(later)).toBe(decision === 'approve' ? held.approved : held.rejected);
    expect(partsOf(later).filter(({ type }) => type === 'tool-look')).toMatchObject(
      resultOf(side, decision, rule.name),
    );
    await later.sendMessage({ text: 'say:And more.' });
    expect(textOf(later)).toBe('And more.');
    // Of what was refused, neither a model nor a page has anything.
    const told = (box.model.requests.at(-1)?.messages ?? []).filter(
      ({ role }) => role !== 'user' || side === 'agent-input',
    );
    const isThere = [said(later), JSON.stringify(told)].map((text) => text.includes('falcon'));
    expect(isThere).toEqual(decision === 'approve' ? [true, true] : [false, false]);
  } finally {
    await box.request(`/api/guardrails/${rule.id}`, { method: 'DELETE' });
  }
});

// --- internal ---

async function holdFalcons(box: TestBox, side: string): Promise<{ id: string; name: string }> {
  const check = { kind: 'words', words: ['falcon'] };
  const rule = { name: `birds ${names}`, check, sides: [side], action: 'hold' };
  const { status, body } = await call<{ id: string; name: string }>(box, 'POST /api/guardrails', rule);
  expect(status).toBe(201);
  return body;
}

async function readChat(url: string, id: string): Promise<UIMessage[]> {
  const answer = await fetch(`${url}/${id}`, { headers: KEY });
  return ((await answer.json()) as { messages: UIMessage[] }).messages;
}

/** Of a result it stands in the part of its call, and of what is of no call in one of its own. */
function approvalOf(chat: { messages: UIMessage[] }, data: readonly object[]): string | undefined {
  const own = data.find((part) => (part as { type: string }).type === 'data-approval');
  const inCall = partsOf(chat).find(({ state }) => state === 'approval-requested');
  const { approvalId } = ((own as { data?: object } | undefined)?.data ?? {}) as { approvalId?: string };
  return approvalId ?? (inCall?.approval as { id: string } | undefined)?.id;
}

/** What the agent has said and done, as the page has it. */
function said({ messages }: { messages: UIMessage[] }): string {
  return JSON.stringify(messages.filter(({ role }) => role === 'assistant'));
}

function resultOf(side: string, decision: 'approve' | 'reject', rule: string): object[] {
  if (side !== 'tool-result') return [];
  if (decision === 'approve') return [{ state: 'output-available', output: 'a falcon' }];
  return [
    { state: 'output-error', errorText: expect.stringContaining(`The guardrail "${rule}" withholds this result.`) },
  ];
}
