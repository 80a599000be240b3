import { until } from './_setup.ts';

/** A kind of request that can be made larger. */
export interface Shape {
  path: string;
  make(size: number): unknown;
  headers?(): Record<string, string>;
  /** It is a GET, and what `make` answers is its query. */
  isQuery?: true;
  /** Makes what is to be there before it, on the box of that address. Answers what stands for `:id` in the path. */
  prepare?(url: string): Promise<string>;
  /** It is refused at any size. */
  isWrong?: true;
  /** Bytes its route takes. */
  limit: number;
  /** Bytes of one more. */
  step: number;
}

export const MIB = 1_048_576;

const times = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));
const nested = (levels: number, inner: unknown): unknown => (levels === 0 ? inner : [nested(levels - 1, inner)]);

/** Whatever is taken as it is, of so many parts. */
const VALUES: Record<string, { step: number; make(size: number): unknown }> = {
  'a list of numbers': { step: 2, make: (size) => times(size, () => 0) },
  'a list of objects': { step: 8, make: (size) => times(size, () => ({ a: 0 })) },
  'an object of many members': {
    step: 12,
    make: (size) => Object.fromEntries(times(size, (n) => [`m${String(n).padStart(6, '0')}`, 0])),
  },
  'lists of many levels': { step: 64, make: (size) => times(Math.ceil(size / 1.7), () => nested(50, 0)) },
  ...Object.fromEntries(
    ['a', ' ', '\n', '"', 'é', '.', 'a://', 'at '].map((text) => [
      `a text of ${JSON.stringify(text)}`,
      {
        step: Buffer.byteLength(JSON.stringify(text)) - 2,
        make: (size: number) => text.repeat(size),
      },
    ]),
  ),
};

const mapValues = (make: (value: unknown) => unknown, shape: Omit<Shape, 'make' | 'step'>): Record<string, Shape> =>
  Object.fromEntries(
    Object.entries(VALUES).map(([name, { step, make: inner }]) => [
      name,
      {
        ...shape,
        step: step * 1.001,
        make: (size) => make(inner(size - 60 / step > 0 ? size - Math.ceil(600 / step) : size)),
      },
    ]),
  );

const CHAT = 32 * MIB;
const user = (content: unknown) => ({ role: 'user', content });
const assistant = (content: unknown) => ({ role: 'assistant', content });
const call = (id: string) => ({ id, type: 'function', function: { name: 't', arguments: '{}' } });
const wireA = (more: object) => ({ model: 'helper', messages: [user('go')], ...more });
const wireB = (more: object) => ({ model: 'helper', max_tokens: 9, messages: [user('go')], ...more });
let asked = 0;
const agui = (more: object) => ({
  threadId: `t${++asked}`,
  runId: 'r',
  messages: [{ id: 'u', ...user('go') }],
  ...more,
});
const ui = (more: object) => ({
  id: `c${++asked}`,
  messages: [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'go' }] }],
  ...more,
});

interface Grows {
  isWrong?: true;
  step: number;
  make(size: number): object;
}

const WIRE_A: Record<string, Grows> = {
  'many messages': { step: 32, make: (n) => wireA({ messages: times(n, () => user('x')) }) },
  'many questions and answers': {
    step: 35,
    make: (n) => wireA({ messages: times(n, (i) => (i % 2 === 0 ? user('x') : assistant('x'))) }),
  },
  'many calls in one message': {
    step: 130,
    make: (n) =>
      wireA({
        messages: [
          { role: 'assistant', content: null, tool_calls: times(n, (i) => call(`c${i}`)) },
          ...times(n, (i) => ({ role: 'tool', tool_call_id: `c${i}`, content: '1' })),
        ],
      }),
  },
  'many calls, one a message': {
    step: 185,
    make: (n) =>
      wireA({
        messages: times(n, (i) => [
          { role: 'assistant', content: null, tool_calls: [call(`c${i}`)] },
          { role: 'tool', tool_call_id: `c${i}`, content: '1' },
        ]).flat(),
      }),
  },
  'one call many times': {
    step: 70,
    make: (n) =>
      wireA({
        messages: [
          { role: 'assistant', content: null, tool_calls: times(n, () => call('c')) },
          { role: 'tool', tool_call_id: 'c', content: '1' },
        ],
      }),
  },
  'many parts': { step: 28, make: (n) => wireA({ messages: [user(times(n, () => ({ type: 'text', text: 'x' })))] }) },
  'many tools': {
    step: 80,
    make: (n) =>
      wireA({
        tools: times(n, (i) => ({ type: 'function', function: { name: `t${i}`, parameters: { type: 'object' } } })),
      }),
  },
};

const WIRE_B: Record<string, Grows> = {
  'many messages': { step: 32, make: (n) => wireB({ messages: times(n, () => user('x')) }) },
  'many answers': {
    step: 37,
    make: (n) => wireB({ messages: times(n, (i) => (i === 0 ? user('x') : assistant('x'))) }),
  },
  'many calls in one message': {
    step: 120,
    make: (n) =>
      wireB({
        messages: [
          assistant(times(n, (i) => ({ type: 'tool_use', id: `c${i}`, name: 't', input: {} }))),
          user(times(n, (i) => ({ type: 'tool_result', tool_use_id: `c${i}`, content: 'x' }))),
        ],
      }),
  },
  'many blocks': { step: 28, make: (n) => wireB({ messages: [user(times(n, () => ({ type: 'text', text: 'x' })))] }) },
  'many system blocks': { step: 28, make: (n) => wireB({ system: times(n, () => ({ type: 'text', text: 'x' })) }) },
  'many tools': {
    step: 65,
    make: (n) => wireB({ tools: times(n, (i) => ({ name: `t${i}`, input_schema: { type: 'object' } })) }),
  },
};

const AGUI: Record<string, Grows> = {
  'many messages': { step: 45, make: (n) => agui({ messages: times(n, (i) => ({ id: `m${i}`, ...user('x') })) }) },
  'messages that are none': { isWrong: true, step: 3, make: (n) => agui({ messages: times(n, () => ({})) }) },
  'many parts': {
    step: 28,
    make: (n) => agui({ messages: [{ id: 'u', ...user(times(n, () => ({ type: 'text', text: 'x' }))) }] }),
  },
  'many calls': {
    step: 70,
    make: (n) =>
      agui({
        messages: [
          { id: 'u', ...user('x') },
          { id: 'a', role: 'assistant', toolCalls: times(n, (i) => call(`c${i}`)) },
        ],
      }),
  },
  'many tools': { step: 45, make: (n) => agui({ tools: times(n, (i) => ({ name: `t${i}`, description: '' })) }) },
  'much context': { step: 33, make: (n) => agui({ context: times(n, () => ({ description: 'd', value: 'v' })) }) },
  'many decisions': {
    step: 45,
    make: (n) => agui({ resume: times(n, (i) => ({ interruptId: `i${i}`, status: 'cancelled' })) }),
  },
};

const UI: Record<string, Grows> = {
  'many messages': {
    step: 75,
    make: (n) =>
      ui({ messages: times(n, (i) => ({ id: `m${i}`, role: 'user', parts: [{ type: 'text', text: 'x' }] })) }),
  },
  'many parts': {
    step: 28,
    make: (n) => ui({ messages: [{ id: 'u', role: 'user', parts: times(n, () => ({ type: 'text', text: 'x' })) }] }),
  },
  'parts that are none': {
    isWrong: true,
    step: 3,
    make: (n) => ui({ messages: [{ id: 'u', role: 'user', parts: times(n, () => ({})) }] }),
  },
};

const CHAT_FLOW: Record<string, Grows> = {
  'many messages': UI['many messages'] as Grows,
  'many parts': UI['many parts'] as Grows,
};

/** What a list is asked by, the member that it is asked in, and what that begins with. */
const LISTS: Record<string, { path: string; member: string; before?: string; isWrong?: true }> = {
  'runs by a name': { path: '/api/runs', member: 'name' },
  'runs by an attribute': { path: '/api/runs', member: 'attribute', before: 'k:' },
  'runs by a client': { path: '/api/runs', member: 'client' },
  'runs by a cursor': { path: '/api/runs', member: 'cursor', isWrong: true },
  'logs by a text': { path: '/api/logs', member: 'text' },
  'sessions by a user': { path: '/api/sessions', member: 'user' },
  'approvals by a run': { path: '/api/approvals', member: 'run' },
  'activities by a target': { path: '/api/activity', member: 'target' },
};

const PATHS = {
  'wire-a': {
    path: '/wire-a/v1/chat/completions',
    grows: WIRE_A,
    open: (value: unknown) => wireA({ messages: [user(value)] }),
  },
  'wire-b': {
    path: '/wire-b/v1/messages',
    grows: WIRE_B,
    open: (value: unknown) => wireB({ tools: [{ name: 't', input_schema: { value } }] }),
  },
  count_tokens: {
    path: '/wire-b/v1/messages/count_tokens',
    grows: WIRE_B,
    open: (value: unknown) => wireB({ metadata: { value } }),
  },
  'AG-UI': { path: '/agui/v1/agents/helper', grows: AGUI, open: (value: unknown) => agui({ state: value }) },
  'UI messages': { path: '/ui/v1/agents/helper', grows: UI, open: (value: unknown) => ui({ extra: value }) },
};

const named = (room: string, shapes: Record<string, Shape>): Record<string, Shape> =>
  Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [`${room}: ${name}`, shape]));

/** Every shape, by its name. */
export const SHAPES: Record<string, Shape> = {
  ...Object.fromEntries(
    Object.entries(PATHS).flatMap(([wire, { path, grows, open }]) => {
      const own = Object.entries(grows).map(([name, shape]) => [name, { path, limit: CHAT, ...shape }] as const);
      return Object.entries(named(wire, { ...Object.fromEntries(own), ...mapValues(open, { path, limit: CHAT }) }));
    }),
  ),
  ...named('wire-a', {
    'many messages under a key': {
      path: PATHS['wire-a'].path,
      limit: CHAT,
      headers: () => ({ 'idempotency-key': `key${++asked}` }),
      ...(WIRE_A['many messages'] as Grows),
    },
    'many messages on a session': {
      path: PATHS['wire-a'].path,
      limit: CHAT,
      headers: () => ({ 'x-svc-session': `session${++asked}` }),
      ...(WIRE_A['many messages'] as Grows),
    },
  }),
  ...named(
    'start',
    mapValues((text) => ({ text }), { path: '/api/workflows/echo/start', limit: MIB }),
  ),
  ...named('chat', {
    ...Object.fromEntries(
      Object.entries(CHAT_FLOW).map(([name, shape]) => [
        name,
        { path: '/api/workflows/talk/chat', limit: MIB, ...shape },
      ]),
    ),
    ...mapValues((extra) => ui({ extra }), { path: '/api/workflows/talk/chat', limit: MIB }),
  }),
  ...named(
    'list',
    Object.fromEntries(
      Object.entries(LISTS).map(([name, { path, member, before = '', isWrong }]) => [
        name,
        {
          path,
          limit: 8_000,
          step: 2,
          isQuery: true,
          ...(isWrong ? { isWrong } : {}),
          make: (size) => ({ [member]: before + '%a'.repeat(Math.ceil(size / 2)) }),
        },
      ]),
    ),
  ),
  ...named(
    'failure',
    mapValues((text) => ({ text }), { path: '/api/workflows/fail/start', limit: MIB }),
  ),
  ...named(
    'resume',
    mapValues((payload) => ({ payload }), {
      path: '/api/workflows/hooks/:id/resume',
      limit: MIB,
      async prepare(url) {
        const token = `token${++asked}`;
        await start(url, 'wait', { token });
        return token;
      },
    }),
  ),
  ...named(
    'webhook',
    mapValues((value) => ({ value }), { path: '/api/webhooks/:id', limit: MIB, prepare: openWebhook }),
  ),
};

export function post(url: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  const fixed = { 'content-type': 'application/json', authorization: 'Bearer dev', 'x-api-key': 'dev' };
  return fetch(url, { method: 'POST', headers: { ...fixed, ...headers }, body });
}

// --- internal ---

async function start(url: string, name: string, input: object): Promise<string> {
  const answer = await post(`${url}/api/workflows/${name}/start`, JSON.stringify(input));
  const { runId } = (await answer.json()) as { runId: string };
  const isWaiting = async () => {
    const run = (await (await fetch(`${url}/api/runs/${runId}`)).json()) as { status: string };
    return run.status === 'waiting';
  };
  await until(isWaiting);
  return runId;
}

async function openWebhook(url: string): Promise<string> {
  const runId = await start(url, 'called', {});
  const answer = await fetch(`${url}/api/runs/${runId}/webhooks`);
  const { items } = (await answer.json()) as { items: { url: string }[] };
  return items[0]?.url.split('/').at(-1) ?? '';
}
