import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkMessages } from '../../../playground/model-script.mjs';
import { pairToolCalls, toMessages } from '../src/agents/model/messages.ts';

const toSent = (given: unknown) => pairToolCalls(toMessages(given));

const call = (id: string) => ({ id, type: 'function', function: { name: 'look_up', arguments: '{}' } });
const user = { role: 'user', content: 'hello' };
const asking = (...ids: string[]) => ({ role: 'assistant', content: null, tool_calls: ids.map(call) });
const result = (id: string, content = 'found') => ({ role: 'tool', tool_call_id: id, content });

describe('the messages a provider is sent', () => {
  test.each([
    ['calls with their results stay', [user, asking('a', 'b'), result('a'), result('b')], undefined],
    ['a call without a result goes', [user, asking('a', 'b'), result('b')], [user, asking('b'), result('b')]],
    ['a result without a call goes', [result('a'), user], [user]],
    ['a result before its call goes, and so does the call', [user, result('a'), asking('a')], [user]],
    [
      'a result after the next answer goes',
      [user, asking('a'), { role: 'assistant', content: 'x' }, result('a')],
      [user, { role: 'assistant', content: 'x' }],
    ],
    ['results come directly after their calls', [asking('a'), user, result('a')], [asking('a'), result('a'), user]],
    [
      'results come in the order of the calls',
      [asking('a', 'b'), result('b'), result('a')],
      [asking('a', 'b'), result('a'), result('b')],
    ],
    [
      'the first of two results counts',
      [asking('a'), result('a', '1'), result('a', '2')],
      [asking('a'), result('a', '1')],
    ],
    ['an id may be used again in a later round', [asking('a'), result('a'), asking('a'), result('a')], undefined],
    [
      'what was said beside a lost call stays',
      [user, { ...asking('a'), content: 'wait' }],
      [user, { role: 'assistant', content: 'wait' }],
    ],
  ])('%s', (_title, given, sent) => {
    expect(toSent(given)).toEqual(sent ?? given);
  });

  test('are taken by a provider whatever the client sends', () => {
    const id = fc.constantFrom('a', 'b', 'c');
    const message = fc.oneof(
      fc.constantFrom(user, { role: 'system', content: 'be brief' }, { role: 'assistant', content: 'hm' }),
      fc.array(id, { maxLength: 3 }).map((ids) => asking(...ids)),
      id.map((one) => result(one)),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), (messages) => {
        const sent = toSent([user, ...messages]);
        checkMessages({ messages: sent });
        expect(toSent(sent)).toEqual(sent);
        expect(sent.filter(({ role }) => role === 'user')).toHaveLength(
          1 + messages.filter(({ role }) => role === 'user').length,
        );
      }),
    );
  });
});
