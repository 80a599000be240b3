import { createElement } from 'react';
import { beforeAll, describe, expect, test } from 'vitest';
import { answer, openPart, refuse, stubBrowser, textOf } from '../app/_draw.ts';
import type { Draw } from '../app/_draw.ts';
import { Pause } from './pause.tsx';

const INTERRUPT = { id: 'a-1', reason: 'tool_call', message: 'Refund o-9?', toolCallId: 'c-1', responseSchema: {} };

describe('a call that waits, of an owner who chats', () => {
  beforeAll(stubBrowser);
  const open = (place: 'full' | 'dev' = 'full', chosen?: { decision: 'approve' }): Promise<Draw> =>
    openPart(
      () =>
        createElement(Pause, {
          interrupt: INTERRUPT as never,
          chosen,
          busy: false,
          refused: undefined,
          onDecide: () => {},
        }),
      { place },
    );
  const ofApprovers = async (approvers: string[] | null) =>
    textOf((await open())((query) => answer(query, { approvalId: 'a-1', approvers })));

  test.each([[null], [['ada']], [['u-2', 'role:owner']]])('is decided by one of %o', async (approvers) => {
    const text = await ofApprovers(approvers);
    expect(text).toContain('Approve');
    expect(text).not.toContain('You are not one');
  });

  test('is not offered to who is not asked, who sees who is', async () => {
    const text = await ofApprovers(['u-2', 'role:approver']);
    expect(text).toContain('You are not one of those who decide this: u-2, anyone who is approver.');
    for (const button of ['Approve', 'Edit arguments', 'Reject']) expect(text).not.toContain(button);
  });

  test('that was decided beside another one, which others decide, has a way to be sent', async () => {
    const html = (await open('full', { decision: 'approve' }))((query) =>
      answer(query, { approvalId: 'a-1', approvers: null }),
    );
    expect(textOf(html)).toContain('You chose: approve.');
    expect(html).toMatch(/<a [^>]*href="[^"]*\/approvals"/);
  });

  test('has no buttons until it is known who is asked, and has them where that cannot be read', async () => {
    expect(textOf((await open())())).not.toContain('Approve');
    expect(textOf((await open())((query) => refuse(query)))).toContain('Approve');
    expect(textOf((await open('dev'))())).toContain('Approve');
  });
});
