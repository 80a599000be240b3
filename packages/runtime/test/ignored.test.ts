import { describe, expect, test } from 'vitest';
import { json } from './_setup.ts';
import { setupWires, user } from './_chat-completions.ts';

const { open } = setupWires();

const WIRE_A = '/wire-a/v1/chat/completions';
const WIRE_B = '/wire-b/v1/messages';
const ASKED = { model: 'helper', messages: user('say:hi'), max_tokens: 50 };
const key = { headers: { authorization: 'Bearer dev' } };

describe('what of a chat request has no effect', () => {
  test('is named in the head of the answer on both wires, whole and in a stream', async () => {
    const { box } = await open();
    const send = async (path: string, extra: object) => {
      const answer = await box.request(path, json({ ...ASKED, ...extra }, key));
      expect(answer.status).toBe(200);
      await answer.text();
      return answer.headers.get('x-svc-ignored');
    };
    const extra = { user: 'ada', metadata: { a: '1' }, store: true, frobnicate: 1 };
    for (const stream of [false, true]) {
      expect(await send(WIRE_A, { ...extra, stream, stream_options: { include_obfuscation: false } })).toBe(
        'user, metadata, store, frobnicate, stream_options.include_obfuscation',
      );
      expect(await send(WIRE_B, { service_tier: 'auto', container: 'c', stream })).toBe('service_tier, container');
    }
    expect(await send(WIRE_B, { output_config: { effort: 'low', efort: 'high' } })).toBe('output_config.efort');
    expect(await send(WIRE_A, { user: null, temperature: 0, modalities: ['text'] })).toBeNull();
    expect(await send(WIRE_B, { top_k: 5, thinking: { type: 'disabled' }, metadata: null })).toBeNull();
  });

  test('is shown up to twenty names, of characters a header may hold', async () => {
    const { box } = await open();
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`m${index}`, 1]));
    const answer = await box.request(WIRE_A, json({ ...ASKED, 'é\r\nx: y': 1, ['l'.repeat(5_000)]: 1, ...many }, key));
    const names = answer.headers.get('x-svc-ignored')?.split(', ') ?? [];
    expect(names.slice(0, 3)).toEqual(['???x??y', 'l'.repeat(64), 'm0']);
    expect([names.length, names.at(-1)]).toEqual([21, '...']);
  });
});

test('what the box can neither heed nor leave out is refused by name', async () => {
  const { box } = await open();
  const cases = {
    functions: [],
    function_call: 'auto',
    audio: { voice: 'alloy' },
    modalities: ['text', 'audio'],
  };
  for (const [param, value] of Object.entries(cases)) {
    const answer = await box.request(WIRE_A, json({ ...ASKED, [param]: value }, key));
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param } }]);
  }
});

test('a prediction and the time its cache is kept reach the provider', async () => {
  const { box, asked } = await open();
  const given = { prediction: { type: 'content', content: 'hi' }, prompt_cache_retention: '24h' };
  const answer = await box.request(WIRE_A, json({ ...ASKED, ...given }, key));
  expect(answer.headers.get('x-svc-ignored')).toBeNull();
  expect(asked().at(-1)).toMatchObject(given);
});
