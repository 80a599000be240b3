// Checked by tsc alone: what the types of the client allow, and what they do not.
import { createClient } from '../src/client.ts';
import type { AgentEvent, OperationId, OperationInput, OperationOutput, StreamEvent, StreamId } from '../src/client.ts';
import type { StreamFrames } from '../src/surface/frames.ts';
import type { OperationTypes } from '../src/surface/index.ts';
import type { AguiEvent } from '../src/wires/agui/event.ts';

const client = createClient({ baseUrl: 'http://127.0.0.1:4242', token: async () => 'token' });

export async function callRight(): Promise<string[]> {
  const { version } = await client.call('contract.get');
  const run = await client.call('runs.get', { id: 'r', wait: '5s' });
  const { items, nextCursor } = await client.call('runs.list', { status: 'completed', limit: 10 });
  await client.call('approvals.decide', { id: 'a', decision: 'approve', note: 'Fine.' });
  const started = await client.call('workflows.start', { name: 'echo', input: { any: 'thing' } });
  const texts: (string | null)[] = [run.name, items[0]?.runId ?? '', nextCursor, started.status, String(version)];
  return texts.map(String);
}
export async function callWrong(): Promise<void> {
  // @ts-expect-error there is no such operation
  await client.call('runs.gett', { id: 'r' });
  // @ts-expect-error an id is needed
  await client.call('runs.get', {});
  // @ts-expect-error so is an input
  await client.call('runs.get');
  // @ts-expect-error the id is a text
  await client.call('runs.get', { id: 7 });
  // @ts-expect-error there is no such member
  await client.call('runs.get', { id: 'r', other: true });
  // @ts-expect-error there is no such decision
  await client.call('approvals.decide', { id: 'a', decision: 'maybe' });
  // @ts-expect-error a run has no such member
  void (await client.call('runs.get', { id: 'r' })).nothing;
  // @ts-expect-error a stream is no call
  await client.call('events.stream', {});
  // @ts-expect-error a call is no stream
  client.stream('runs.get', { id: 'r' });
  // @ts-expect-error the run is missing
  client.stream('runs.state_stream');
}

/** Each frame has its own data, by the name of its event. */
export async function readFrames(): Promise<unknown[]> {
  const seen: unknown[] = [];
  for await (const frame of client.stream('events.stream')) {
    if (frame.event === 'step.completed') seen.push(frame.data.step.length, frame.data.at);
    if (frame.event === 'run.ended') seen.push(frame.data.status, frame.data.runId);
    // @ts-expect-error no run is named
    if (frame.event === 'session.updated') seen.push(frame.data.runId);
    // @ts-expect-error there is no such event
    if (frame.event === 'run.end') seen.push(frame);
  }
  for await (const frame of client.stream('runs.stream', { id: 'r', name: 'main', follow: true }))
    seen.push(frame.event === 'frame' ? frame.data.value : frame.data.reason);
  for await (const { event, data } of client.stream('logs.tail')) if (event === 'log') seen.push(data.message);
  return seen;
}

/** Without the types of a workspace any name is one, and what a run answers is unknown. */
export async function useNames(): Promise<string> {
  const run = await client
    .workflow('any')
    .start({ some: 'input' }, { id: 'order-7', idempotencyKey: 'k', delay: '1m' });
  // @ts-expect-error there is no such option
  await client.workflow('any').start({}, { later: '1m' });
  // @ts-expect-error it is unknown
  void (await run.result()).text;
  const turn = await client.agent('any').session('ada').send('Hello');
  return turn.text + String(turn.json()) + String(run.runId?.length);
}

/** What the client has of the operations is what the box has: after a change, `node scripts/make-client-types.mjs`. */
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Both<A, B> = [A, B] extends [B, A] ? true : false;
type Differing = {
  [Id in keyof (Ours & Theirs)]: Both<Theirs[Id], Ours[Id]> extends true ? never : Id;
}[keyof (Ours & Theirs)];
type Ours = OperationTypes;
type Theirs = {
  [Id in OperationId | StreamId]: {
    input: OperationInput<Id>;
    output: OperationOutput<Id>;
    answer: Ours[Id]['answer'];
  };
};

export const sameIds: Equal<keyof Theirs, keyof Ours> = true;
export const sameOperations: Equal<Differing, never> = true;
export const sameStreams: Both<{ [Id in StreamId]: StreamEvent<Id> }, StreamFrames> = true;
export const sameEvents: Both<AgentEvent, AguiEvent> = true;
