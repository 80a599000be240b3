import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json as readBody } from 'node:stream/consumers';
import { startModelServer } from '../../../playground/model-server.mjs';

/** The scripted model, beside one that judges what it is shown. */
export interface JudgingProvider {
  baseUrl: string;
  apiKey: string;
  /** What the judge was asked, in order. */
  asked: Asked[];
  /** What the judge answers to the last message: a text, or a status, whose error repeats the message. Undefined: never. */
  judge(says: (message: string) => string | number | undefined): void;
  close(): Promise<void>;
}

export interface Asked {
  model: string;
  messages: { role: string; content: unknown }[];
}

export const JUDGE = 'judge/one';

export async function startJudgingProvider(): Promise<JudgingProvider> {
  const scripted = await startModelServer();
  const asked: Asked[] = [];
  let says: Parameters<JudgingProvider['judge']>[0] = () => undefined;
  const server = createServer(async (request, response) => {
    const body = (await readBody(request)) as Asked;
    if (body.model !== JUDGE) {
      const answer = await fetch(`${scripted.url}${String(request.url).slice('/v1'.length)}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer none' },
        body: JSON.stringify(body),
      });
      response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' });
      return response.end(await answer.text());
    }
    asked.push(body);
    const message = String(body.messages.at(-1)?.content);
    const said = says(message);
    if (said === undefined) return undefined;
    if (typeof said === 'number') return response.writeHead(said).end(JSON.stringify({ error: { message } }));
    const delta = { index: 0, delta: { content: said }, finish_reason: 'stop' };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    return response.end(`data: ${JSON.stringify({ choices: [delta] })}\n\ndata: [DONE]\n\n`);
  });
  await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    apiKey: 'none',
    asked,
    judge: (next) => void (says = next),
    async close() {
      server.closeAllConnections();
      server.close();
      await scripted.close();
    },
  };
}
