import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { createClient } from './index.ts';
import { liveOf } from './live.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise((resolve) => server.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a connection goes on behind the last id, of a frame without data, too, and an empty one starts over', async () => {
  const first = ['id: e-7\n\n', 'id: e-8\nevent: reset\ndata: {}\n\nid: e-9\n\n', 'id\n\n'];
  const asked: (string | undefined)[] = [];
  const baseUrl = await serve((request, response) => {
    asked.push(request.headers['last-event-id'] as string | undefined);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(first[asked.length - 1] ?? ': done\n\n');
  });
  const leave = liveOf(createClient({ baseUrl })).connection.listen({ onEvent() {}, onOpened() {}, onState() {} });
  await vi.waitFor(() => expect(asked.length).toBeGreaterThanOrEqual(4), 10_000);
  leave();
  expect(asked.slice(0, 4)).toEqual([undefined, 'e-7', 'e-9', undefined]);
});

test('a frame has the whole of its data, whatever line ends that other formats know', async () => {
  const baseUrl = await serve((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end('id: e-1\nevent: run.ended\ndata: {"name":"a\u2028b"}\n\n');
  });
  const seen: unknown[] = [];
  for await (const { data } of createClient({ baseUrl }).stream('events.stream')) seen.push(data);
  expect(seen).toEqual([{ name: 'a\u2028b' }]);
});

test.each([503, 429])(
  'a run that cannot be read with %i is asked for less and less often, and as at first after one that went well',
  async (status) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] });
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    const begun = Date.now();
    const looks: number[] = [];
    let isAway = true;
    let events: ReadableStreamDefaultController<Uint8Array> | undefined;
    const run = { runId: 'r', status: 'running', continuedTo: null, error: null };
    const client = createClient({
      baseUrl: 'http://box.test',
      async fetch({ url }) {
        if (url.endsWith('/api/events'))
          return new Response(new ReadableStream<Uint8Array>({ start: (controller) => void (events = controller) }));
        if (url.endsWith('/r')) looks.push((Date.now() - begun) / 1_000);
        if (isAway) return Response.json({ code: 'away' }, { status });
        return Response.json(url.endsWith('/state') ? { state: 1 } : run);
      },
    });
    const view = liveOf(client).run('r');
    const leave = view.subscribe(() => {});
    await vi.advanceTimersByTimeAsync(100_000);
    expect(looks).toEqual([0, 1, 3, 7, 15, 31, 61, 91]);
    isAway = false;
    await vi.advanceTimersByTimeAsync(25_000);
    expect([view.get().run, view.get().error]).toEqual([run, undefined]);
    isAway = true;
    looks.length = 0;
    const since = (Date.now() - begun) / 1_000;
    events?.enqueue(new TextEncoder().encode('event: run.waiting\ndata: {"runId":"r"}\n\n'));
    await vi.advanceTimersByTimeAsync(3_500);
    expect(looks.map((at) => at - since)).toEqual([0, 1, 3]);
    leave();
  },
);
