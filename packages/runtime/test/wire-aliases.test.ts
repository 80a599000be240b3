import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { createMemoryKv } from '../src/stores/kv-memory.ts';
import { call, setupBoxes } from './_setup.ts';

const boxes = setupBoxes();
const agents = {
  helper: defineDeepAgent({ name: 'helper', instructions: 'Help.' }),
  other: defineDeepAgent({ name: 'other', instructions: 'Help.' }),
};
const messages = [{ role: 'user' as const, content: 'say:hello' }];
const ASKED = { model: 'helper', messages, max_tokens: 100 };

describe('a chat wire under the name its format is known by', () => {
  test('answers the clients of OpenAI', async () => {
    const address = await (await boxes.open({ agents })).listen();
    const client = new OpenAI({ baseURL: `${address}/openai/v1`, apiKey: 'any' });
    const { choices } = await client.chat.completions.create({ model: 'helper', messages });
    expect(choices[0]?.message.content).toBe('hello');
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['helper', 'other']);
    expect(await client.models.retrieve('helper')).toMatchObject({ id: 'helper' });
    const stream = client.chat.completions.stream({ model: 'helper', messages });
    expect(await stream.finalContent()).toBe('hello');
  });

  test('answers the clients of Anthropic', async () => {
    const address = await (await boxes.open({ agents })).listen();
    const client = new Anthropic({ baseURL: `${address}/anthropic`, apiKey: 'any' });
    expect((await client.messages.create(ASKED)).content).toMatchObject([{ type: 'text', text: 'hello' }]);
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['helper', 'other']);
    const { input_tokens } = await client.messages.countTokens({ model: 'helper', messages });
    expect(input_tokens).toBeGreaterThan(0);
  });

  const PATHS: [string, string][] = [
    ['/openai/v1/chat/completions', '/wire-a/v1/chat/completions'],
    ['/anthropic/v1/messages', '/wire-b/v1/messages'],
  ];

  test.each(PATHS)('%s asks for the same key, and grants no more', async (path, same) => {
    const kv = createMemoryKv();
    const dev = await boxes.open({ options: { kv } });
    const image = await boxes.open({ agents, options: { host: 'image', kv } });
    const { body: key } = await call<{ value: string }>(dev, 'POST /api/keys', {
      name: 'ci',
      grants: { agents: ['helper'] },
    });
    const ask = async (at: string, model: string, headers: Record<string, string>) => {
      const { status, body } = await call<Record<string, unknown>>(image, `POST ${at}`, { ...ASKED, model }, headers);
      const { error } = body as { error?: { type: string; message: string } };
      return { status, error };
    };
    const bearer = { authorization: `Bearer ${key.value}` };
    expect(await ask(path, 'helper', bearer)).toMatchObject({ status: 200 });
    for (const [model, headers, status] of [
      ['helper', {}, 401],
      ['helper', { authorization: 'Bearer svc_no' }, 401],
      ['other', bearer, 403],
    ] as const) {
      const refused = await ask(path, model, headers);
      expect(refused).toEqual(await ask(same, model, headers));
      expect(refused).toMatchObject({ status, error: { type: expect.any(String) as string } });
    }
  });

  test.each(PATHS)('%s is checked as the other name is', async (path, same) => {
    const box = await boxes.open({ agents, options: { isAllowedHost: (host) => host === 'localhost' } });
    const ask = async (at: string, init: RequestInit) => {
      const response = await box.request(at, { method: 'POST', ...init });
      const { error } = (await response.json()) as { error: { type: string; message: string } };
      return { status: response.status, error };
    };
    const json = { 'content-type': 'application/json', 'x-api-key': 'k' };
    const cases: [number, RequestInit][] = [
      [403, { headers: { ...json, host: 'evil.test' }, body: JSON.stringify(ASKED) }],
      [415, { headers: { host: 'localhost', 'x-api-key': 'k', 'content-type': 'text/plain' }, body: '{}' }],
      [400, { headers: { ...json, host: 'localhost' }, body: '{' }],
      [413, { headers: { ...json, host: 'localhost' }, body: `"${'x'.repeat(33 * 1_048_576)}"` }],
    ];
    for (const [status, init] of cases) {
      const refused = await ask(path, init);
      expect(refused).toEqual(await ask(same, init));
      expect(refused.status).toBe(status);
    }
  });

  test.each(['/openai/v2/models', '/openai', '/openai/v10/models', '/anthropics/v1/models', '/OpenAI/v1/models'])(
    '%s is none',
    async (path) => {
      const box = await boxes.open({ agents });
      expect((await box.request(path, { headers: { authorization: 'Bearer k' } })).status).toBe(404);
    },
  );

  test('is no way to what lies elsewhere', async () => {
    const box = await boxes.open({ agents });
    for (const path of [
      '/openai/v1/../../api/keys',
      '/anthropic/%2e%2e/api/keys',
      '/openai/v1/%2e%2e/%2e%2e/api/keys',
    ]) {
      const there = new URL(path, 'http://box').pathname;
      const { status } = await box.request(path, { headers: { authorization: 'Bearer k' } });
      expect(status).toBe((await box.request(there, { headers: { authorization: 'Bearer k' } })).status);
    }
  });
});
