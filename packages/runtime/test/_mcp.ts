import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { CallToolResult, ClientOptions } from '@modelcontextprotocol/client';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { sleep } from '../src/engine/primitives/sleep.ts';
import type { TestBox, TestBoxes, TestBoxOptions } from './_setup.ts';

export type Json = Record<string, unknown>;

/** A box with an agent and workflows of every kind. */
export const openMcpBox = (boxes: TestBoxes, options: TestBoxOptions['options'] = {}): Promise<TestBox> =>
  boxes.open({
    agents: { helper: defineDeepAgent({ name: 'helper' }) },
    workflows: {
      echo: { run: async (input: unknown) => input, inputSchema: z.object({ text: z.string() }) },
      rest: { run: async () => sleep('1 hour') },
      fails: {
        run: async () => {
          throw new Error('broken');
        },
      },
    },
    options,
  });

/** A connected client of one protocol era. */
export async function connect(box: TestBox, options: ClientOptions = {}, headers: Record<string, string> = {}) {
  const client = new Client({ name: 'test', version: '1.0.0' }, options);
  const transport = new StreamableHTTPClientTransport(new URL('http://127.0.0.1/mcp'), {
    requestInit: { headers },
    fetch: async (url, init) => box.request(new URL(url).pathname, init),
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

export const MODERN: ClientOptions = { versionNegotiation: { mode: { pin: '2026-07-28' } } };
export const ERAS: [era: string, options: ClientOptions][] = [
  ['2025-11-25', {}],
  ['2026-07-28', MODERN],
];

/** What a tool answers, with what the text of it says. */
export async function callTool(client: Client, name: string, args: Json) {
  const result = (await client.callTool({ name, arguments: args })) as CallToolResult;
  const [first] = result.content;
  return {
    isError: result.isError === true,
    body: result.structuredContent as Json,
    text: (first as { text: string }).text,
  };
}

export const write = (client: Client, operation: string, input: Json, requestState?: unknown) =>
  callTool(client, 'call_write_operation', {
    operation,
    input,
    ...(requestState === undefined ? {} : { requestState }),
  });
