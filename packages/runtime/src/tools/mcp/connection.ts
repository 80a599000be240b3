import type { CallToolResult, Client, Tool as McpTool } from '@modelcontextprotocol/client';
import { runOutside } from '../../engine/context.ts';
import { LONGEST_TIMER_MS } from '../../engine/duration.ts';
import { capAnswer } from '../../http/capped-answer.ts';
import type { McpServerPlace } from '../../definitions/agent.ts';

/** One server, connected when it is first asked for something and again when that connection was lost. */
export interface McpConnection {
  /** Its tools, asked for once per connection. `problem`: it cannot be reached, and these are what it had before. */
  list(): Promise<{ tools: readonly McpTool[]; problem?: string }>;
  /** Throws what the model is sent of a call that failed. Waits until the signal aborts. */
  call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult>;
  close(): Promise<void>;
}

/** Calls a server that is a service the box is connected to: a path below its address. */
export type CallService = (path: string, init: RequestInit | undefined) => Promise<Response>;

export function createMcpConnection(
  server: McpServerPlace,
  onDown: (problem: string) => void,
  callService?: CallService,
): McpConnection {
  const links = new Set<Link>();
  let current: Link | undefined;
  let tools: readonly McpTool[] = [];
  let isListed = false;
  let down: { problem: string; until: number } | undefined;

  /** The next who asks reconnects. Those who have asked keep the link: what went wrong may be one's own matter. */
  const leave = (link: Link): void => {
    link.isOver = true;
    if (link.asked === 0) links.delete(link);
    if (current !== link) return;
    current = undefined;
    isListed = false;
  };
  const close = async (link: Link): Promise<void> => {
    links.delete(link);
    await link.opening.then(
      (open) => open.close(),
      () => {},
    );
  };
  const connect = (): Link => {
    if (current) return current;
    const events = { onChange: () => (isListed = false), onClose: () => leave(link) };
    const link: Link = { opening: runOutside(() => openClient(server, events, callService)), asked: 0, isOver: false };
    link.opening.catch(() => leave(link));
    links.add(link);
    current = link;
    return link;
  };
  const use = async <T>(
    ask: (open: Client, link: Link) => Promise<T>,
    endsLink: (error: unknown) => boolean,
  ): Promise<T> => {
    const link = connect();
    link.asked += 1;
    try {
      return await ask(await link.opening, link);
    } catch (error) {
      if (endsLink(error)) leave(link);
      throw error;
    } finally {
      link.asked -= 1;
      if (link.isOver && link.asked === 0) close(link).catch(() => {});
    }
  };

  return {
    async list() {
      if (isListed) return { tools };
      if (down && performance.now() < down.until) return { tools, problem: down.problem };
      try {
        await use(
          async (open, link) => {
            ({ tools } = await open.listTools(undefined, { timeout: CONNECT_MS }));
            // One that is over meanwhile is not notified of any change.
            isListed = current === link;
          },
          () => true,
        );
        down = undefined;
        return { tools };
      } catch (error) {
        const problem = sentenceOf(error);
        down = { problem, until: performance.now() + RETRY_MS };
        onDown(problem);
        return { tools, problem };
      }
    },
    async call(name, args, signal) {
      try {
        return await use(
          (open) => open.callTool({ name, arguments: args }, { signal, timeout: LONGEST_TIMER_MS }),
          // Whatever it was: the next turn finds out again whether the server is there.
          (error) => !signal.aborted && !isAnswer(error),
        );
      } catch (error) {
        // Slow, or hung: asked for its tools, it answers or is reconnected. A program that is slow keeps what it has.
        if (isTimeout(signal.reason)) isListed = false;
        throw signal.aborted ? signal.reason : error;
      }
    },
    async close() {
      const open = [...links];
      if (current) leave(current);
      await Promise.allSettled(open.map(close));
    },
  };
}

// --- internal ---

/** A connection, from its beginning on. */
interface Link {
  opening: Promise<Client>;
  /** Calls under way. It is closed when it is over and none is left. */
  asked: number;
  isOver: boolean;
}

/** A turn waits so long for a server that does not answer, and the turns of the next seconds not at all. */
const CONNECT_MS = 5_000;
const RETRY_MS = 10_000;
const KEPT_STDERR = 400;
/** Of an answer, or of an event: far more than a result may have that is recorded. */
const MOST_BYTES = 16 * 1_048_576;

interface Events {
  onChange(): void;
  onClose(): void;
}

async function openClient(
  server: McpServerPlace,
  { onChange, onClose }: Events,
  callService: CallService | undefined,
): Promise<Client> {
  const { Client: McpClient } = await import('@modelcontextprotocol/client');
  const client = new McpClient(
    { name: 'svc', version: '1' },
    {
      versionNegotiation: { mode: server.command === undefined ? 'auto' : 'legacy' },
      listChanged: { tools: { autoRefresh: false, onChanged: onChange } },
    },
  );
  // A stream that breaks off is asked for again by the client, and whoever waits for what comes over it waits on.
  const { transport, said } = await toTransport(server, callService, () => void client.close().catch(() => {}));
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the client is no event target
  client.onclose = onClose;
  try {
    await client.connect(transport, { timeout: CONNECT_MS });
    return client;
  } catch (error) {
    await client.close().catch(() => {});
    const words = said();
    throw words === '' ? error : new Error(`${sentenceOf(error)} It said: ${words}`, { cause: error });
  }
}

async function toTransport(server: McpServerPlace, callService: CallService | undefined, onFlood: () => void) {
  if (server.command === undefined) {
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
    const isService = server.url === undefined;
    const url = isService ? new URL((server.path ?? '').replace(/^\/+/, ''), SERVICE) : new URL(server.url);
    const send = isService ? toFetch(callService) : fetch;
    const transport = new StreamableHTTPClientTransport(url, {
      requestInit: { headers: (isService ? undefined : server.headers) ?? {} },
      fetch: createCappedFetch(send, onFlood),
    });
    return { transport, said: () => '' };
  }
  const { StdioClientTransport, getDefaultEnvironment } = await import('@modelcontextprotocol/client/stdio');
  const { command, args = [], cwd } = server;
  const env = { ...getDefaultEnvironment(), ...server.env };
  const transport = new StdioClientTransport({
    command,
    args,
    env,
    stderr: 'pipe',
    ...(cwd === undefined ? {} : { cwd }),
  });
  let words = '';
  transport.stderr?.on('data', (part: Buffer) => (words = (words + part.toString()).slice(-KEPT_STDERR)));
  return { transport, said: () => words.trim() };
}

/** Stands for the address of a service, which is known once it is called. */
const SERVICE = 'http://service.invalid/';

function toFetch(callService: CallService | undefined): typeof fetch {
  return (input, init) => {
    const { pathname, search } = new URL(input instanceof Request ? input.url : input);
    if (!callService) throw new Error('There are no connections here.');
    return callService(`${pathname.slice(1)}${search}`, init);
  };
}

function createCappedFetch(send: typeof fetch, onFlood: () => void): typeof fetch {
  const tooLong = (): Error => {
    onFlood();
    return new Error(`The server answered more than ${MOST_BYTES} bytes.`);
  };
  return async (...args) => {
    const answer = await send(...args);
    const byEvent = answer.headers.get('content-type')?.startsWith('text/event-stream') === true;
    return capAnswer(answer, { mostBytes: MOST_BYTES, byEvent, tooLong });
  };
}

function isTimeout(reason: unknown): boolean {
  return (reason as { code?: unknown } | null | undefined)?.code === 'step_timeout';
}

/** The server has answered, with an error of its own: it is there. */
function isAnswer(error: unknown): boolean {
  return typeof (error as { code?: unknown } | null)?.code === 'number';
}

function sentenceOf(error: unknown): string {
  const { message, cause } = error as Error;
  const why = cause instanceof Error && !message.includes(cause.message) ? ` (${cause.message})` : '';
  return `${message}${why}`;
}
