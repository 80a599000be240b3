import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseEnv } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { checkGiven, choose } from './choices.ts';
import type { Given } from './choices.ts';
import { checkProviderKey, checkProviderUrl, renderEnv } from './provider.ts';

interface Asked {
  env?: Record<string, string>;
  /** What a person types, line by line. Absent: there is no terminal. */
  typed?: string[];
  stdin?: string;
}

/** What was chosen, the questions a person saw, and what was said between them. */
async function decide(given: Partial<Given>, { env = {}, typed, stdin }: Asked = {}) {
  const lines = [...(typed ?? [])];
  const questions: string[] = [];
  const said: string[] = [];
  const hidden: string[] = [];
  const chosen = await choose(checkGiven({ keyStdin: false, ...given }), {
    mayAsk: typed !== undefined,
    env,
    say: (line) => void said.push(line),
    readStdin: async () => stdin,
    async ask(question, { isHidden } = {}) {
      (isHidden ? hidden : questions).push(question);
      const line = lines.shift();
      if (line === undefined) throw new Error(`Nothing is typed at: ${question}`);
      return line;
    },
  });
  return { chosen, questions, hidden, said, left: lines };
}

/** A provider with these models, for whoever has the key. */
async function serve(models: string[], key?: string): Promise<{ url: string; keys: (string | undefined)[] }> {
  const keys: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    keys.push(request.headers.authorization);
    const isAllowed = key === undefined || request.headers.authorization === `Bearer ${key}`;
    response.statusCode = request.url !== '/v1/models' ? 404 : isAllowed ? 200 : 401;
    response.end(JSON.stringify({ object: 'list', data: models.map((id) => ({ id })) }));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, keys };
}

describe('without a terminal', () => {
  test('nothing is asked, and what no flag names is its default', async () => {
    expect((await decide({})).chosen).toEqual({ with: 'empty', provider: null, model: null });
  });

  test('the key is that of the environment, or of stdin where a flag says so', async () => {
    const { url, keys } = await serve(['a/b'], 'sk-1');
    const env = { MODEL_PROVIDER_API_KEY: 'sk-1' };
    const expected = { with: 'agent', provider: { url, key: 'sk-1' }, model: 'a/b' };
    expect((await decide({ with: 'agent', provider: url }, { env })).chosen).toEqual(expected);
    const piped = await decide({ with: 'agent', provider: url, keyStdin: true }, { env: {}, stdin: 'sk-1\n' });
    expect(piped.chosen).toEqual(expected);
    expect(keys).toEqual(['Bearer sk-1', 'Bearer sk-1']);
  });

  test('of several models none is taken, and a model that is named is not asked for', async () => {
    const { url, keys } = await serve(['a', 'b']);
    expect((await decide({ provider: url })).chosen.model).toBeNull();
    expect((await decide({ provider: url, model: 'c' })).chosen.model).toBe('c');
    expect(keys).toHaveLength(1);
  });

  test('a key on stdin that never comes, or is of no provider, is refused', async () => {
    await expect(decide({ keyStdin: true })).rejects.toThrow('--provider names none');
    const provider = 'http://127.0.0.1:1/v1';
    await expect(decide({ keyStdin: true, provider }, { stdin: '\n' })).rejects.toThrow('nothing came');
  });
});

describe('on a terminal', () => {
  test('template, provider, key and model are asked for, the key with nothing of it shown', async () => {
    const { url } = await serve(['b/two', 'a/one'], 'sk-1');
    const asked = await decide({}, { typed: ['', url, 'sk-1', '2'] });
    expect(asked.chosen).toEqual({ with: 'agent', provider: { url, key: 'sk-1' }, model: 'b/two' });
    expect(asked.hidden).toHaveLength(1);
    expect(asked.questions.join()).toMatch(/Begin with .*Model provider.*Its model, a number/s);
    expect(asked.said).toEqual([
      expect.stringContaining('workflow-agent  both: an agent that starts a workflow'),
      'It has 2 models:\n   1  a/one\n   2  b/two',
    ]);
  });

  test('a template there is none of is said, and asked for again', async () => {
    const { chosen, said, left } = await decide({}, { typed: ['agnt', 'workflow', ''] });
    expect(chosen).toMatchObject({ with: 'workflow' });
    expect(said[1]).toBe('There is no template "agnt". Use one of: agent, empty, workflow, workflow-agent.');
    expect(left).toEqual([]);
  });

  test('Enter leaves the provider to later, and asks no more', async () => {
    const { chosen, questions } = await decide({ with: 'agent' }, { typed: [''] });
    expect(chosen).toEqual({ with: 'agent', provider: null, model: null });
    expect(questions).toHaveLength(1);
  });

  test('a provider of the environment is offered, and its key is not asked for', async () => {
    const { url } = await serve(['only']);
    const env = { MODEL_PROVIDER_BASE_URL: url, MODEL_PROVIDER_API_KEY: 'sk-2' };
    const { chosen, hidden } = await decide({ with: 'agent' }, { env, typed: ['', ''] });
    expect(chosen).toEqual({ with: 'agent', provider: { url, key: 'sk-2' }, model: 'only' });
    expect(hidden).toEqual([]);
  });

  test('what cannot be meant is said and asked again, and a key that is refused may be typed again', async () => {
    const { url } = await serve(['m'], 'sk-right');
    const typed = ['ftp://x', url, 'with space', 'sk-wrong', 'sk-right', ''];
    const { chosen, said, left } = await decide({ with: 'agent' }, { typed });
    expect(chosen).toEqual({ with: 'agent', provider: { url, key: 'sk-right' }, model: 'm' });
    expect(said).toEqual([
      expect.stringContaining('"ftp://x" is not an http or https address.'),
      expect.stringMatching(/^The key of the model provider has a character/),
      'It answered 401: it refuses the key.',
    ]);
    expect(left).toEqual([]);
  });

  test('a part of a name narrows a long list, and a name that is not listed is taken as it stands', async () => {
    const { url } = await serve(Array.from({ length: 30 }, (_, i) => `vendor/m${i}`));
    const narrowed = await decide({ with: 'agent', provider: url }, { typed: ['', 'm2', '1'] });
    expect(narrowed.said[0]).toContain('      and 10 more');
    expect(narrowed.said[1]?.split('\n').slice(0, 2)).toEqual(['It has 11 models:', '   1  vendor/m2']);
    expect(narrowed.chosen.model).toBe('vendor/m2');
    const own = await decide({ with: 'agent', provider: url }, { typed: ['', 'mine'] });
    expect([own.chosen.model, own.said.at(-1)]).toEqual(['mine', expect.stringContaining('does not list "mine"')]);
  });

  test('a provider that does not answer is kept, and its model is typed', async () => {
    const url = 'http://127.0.0.1:1/v1';
    const { chosen, said } = await decide({ with: 'agent', provider: url }, { typed: ['', 'vendor/x'] });
    expect(chosen).toEqual({ with: 'agent', provider: { url, key: undefined }, model: 'vendor/x' });
    expect(said).toEqual([expect.stringMatching(/^It cannot be reached from here/)]);
  });
});

test.each(['nonsense', 'ftp://x/v1', 'file:///etc/passwd', ''])('%j is no address of a provider', (text) => {
  expect(() => checkProviderUrl(text)).toThrow(/is not an http or https address/);
});

test('an address with credentials is refused, and they are not repeated', () => {
  expect(() => checkProviderUrl('https://ada:geheim@x.example/v1')).toThrow(
    /^The provider address carries credentials\.$/,
  );
});

test.each([['sk-plain_1.2'], ["with'quote"], ['with#hash'], ['with"double'], ['with`tick'], ['$HOME\\n']])(
  'the key %s is read from .env as it was given',
  (key) => {
    const url = 'https://x.example/v1?a=b#c';
    expect(parseEnv(renderEnv({ url, key }))).toEqual({ MODEL_PROVIDER_BASE_URL: url, MODEL_PROVIDER_API_KEY: key });
  },
);

test.each([['a b'], ['a\nb'], ['schlüssel'], [`a'b\`c`], ['x'.repeat(10_001)]])(
  'a key such as %j is refused',
  (key) => {
    expect(() => checkProviderKey(key)).toThrow(/has a character that no key has, or more than 10000/);
  },
);

test('a .env that is there keeps what is not of a provider', () => {
  const before = 'A=1\nexport MODEL_PROVIDER_API_KEY=old\nMODEL_PROVIDER_BASE_URL=http://old\nB=2';
  expect(renderEnv({ url: 'http://new/v1' }, before)).toBe('A=1\nB=2\nMODEL_PROVIDER_BASE_URL=http://new/v1\n');
});
