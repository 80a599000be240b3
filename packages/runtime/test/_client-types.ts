// Checked by tsc alone: what the types of the client allow, and what they do not.
import { createClient } from '../src/client.ts';

const client = createClient({ baseUrl: 'http://127.0.0.1:4242', token: async () => 'token' });

export async function callRight(): Promise<string[]> {
  const { version } = await client.call('contract.get');
  const run = await client.call('runs.get', { id: 'r', wait: '5s' });
  const { items, nextCursor } = await client.call('runs.list', { status: 'completed', limit: 10 });
  await client.call('approvals.decide', { id: 'a', decision: 'approve', note: 'Fine.' });
  for await (const { event, data } of client.stream('events.stream')) return [event, data];
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
}
