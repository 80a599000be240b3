// @ts-check
/**
 * A model provider that needs no key and no network: a chat-completions server on loopback whose answers are
 * written by the person asking. The last user message is the script; directives stand on their own line or between `;`.
 *
 *   say:hello                   answers "hello"
 *   tool:name {"a": 1}          calls a tool, waits for its result; several are played one round after the other
 *   tools:a {..} | b {..}       calls several tools in one round
 *   reason:because              thinks first (`reasoning_content`)
 *   chunks:1000                 streams exactly so many pieces of text
 *   delay:50                    waits so many milliseconds before each piece
 *   finish:length               ends with another finish_reason
 *   error:500                   answers with that status; `error:429 once` fails the first request of a conversation only
 *   hang                        never answers, until the caller goes away
 *   cut                         drops the connection after the text, in the middle of the answer
 *
 * Anything else gets a plain answer. `POST /v1/embeddings` answers vectors in which texts that share words are near to each
 * other; a text `error:429` there is answered with that status. `POST /v1/rerank` ranks by them. Try it: node model-server.mjs --port 9101
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import { createServer } from 'node:http';
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { checkMessages, replyTo, textsOf, usageOf, vectorOf } from './model-script.mjs';

/**
 * @typedef {import('./model-script.mjs').ChatRequest} ChatRequest
 * @typedef {import('./model-script.mjs').EmbedRequest} EmbedRequest
 * @typedef {import('./model-script.mjs').Reply} Reply
 * @typedef {import('node:http').IncomingMessage} Request
 * @typedef {import('node:http').ServerResponse} Response
 * @typedef {object} ModelServer
 * @property {string} url      the base address a client is given, ends in `/v1`
 * @property {number} port
 * @property {ChatRequest[]} requests  the last 500 request bodies, oldest first
 * @property {EmbedRequest[]} embedRequests  the same of `/embeddings`
 * @property {number[]} embedFailures  statuses that the next calls of `/embeddings` are answered with
 * @property {() => Promise<void>} close  drops every open answer
 * @typedef {{ models: readonly string[], requests: ChatRequest[], embedRequests: EmbedRequest[], embedFailures: number[], failed: Set<string> }} Memory
 */

/**
 * Starts the scripted model. Port 0 takes a free one; a busy port rejects with `EADDRINUSE`.
 * @param {{ port?: number, host?: string, models?: readonly string[] }} [options] `models`: those it lists; it answers as any
 * @returns {Promise<ModelServer>}
 */
export async function startModelServer({ port = 0, host = '127.0.0.1', models = [MODEL] } = {}) {
  /** @type {Memory} */
  const memory = { models, requests: [], embedRequests: [], embedFailures: [], failed: new Set() };
  const server = createServer((request, response) => void serve(request, response, memory));
  server.listen(port, host);
  await once(server, 'listening');
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    url: `http://${host}:${address.port}/v1`,
    port: address.port,
    requests: memory.requests,
    embedRequests: memory.embedRequests,
    embedFailures: memory.embedFailures,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

// --- internal ---

const MODEL = 'playground/scripted';
const REQUESTS_KEPT = 500;
const ARGUMENT_FRAGMENT = 8;

/**
 * @param {Request} request
 * @param {Response} response
 * @param {Memory} memory
 */
async function serve(request, response, memory) {
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  try {
    const route = `${request.method} ${request.url?.split('?')[0]}`;
    if (route === 'GET /v1/models') return sendJson(response, 200, modelList(memory.models));
    if (route === 'POST /v1/embeddings') return embed(await readBody(request), response, memory);
    if (route === 'POST /v1/rerank') return rerank(await readBody(request), response);
    if (route !== 'POST /v1/chat/completions') return sendError(response, 404, `There is no route ${route}.`);
    await complete(await readBody(request), response, { memory, signal: gone.signal });
  } catch (error) {
    if (gone.signal.aborted || response.headersSent) return void response.destroy();
    sendError(response, 400, error instanceof Error ? error.message : String(error));
  }
}

/**
 * @param {EmbedRequest} body
 * @param {Response} response
 * @param {Memory} memory
 */
function embed(body, response, memory) {
  memory.embedRequests.push(body);
  if (memory.embedRequests.length > REQUESTS_KEPT) memory.embedRequests.shift();
  const failure = memory.embedFailures.shift();
  if (failure) return sendError(response, failure);
  const texts = textsOf(body);
  const [, status] = /^error:(\d{3})$/.exec(texts.find((text) => text.startsWith('error:')) ?? '') ?? [];
  if (status) return sendError(response, Number(status));
  const data = texts.map((text, index) => ({
    object: 'embedding',
    index,
    embedding: vectorOf(text, body.dimensions),
  }));
  const tokens = Math.ceil(texts.join('').length / 4);
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  sendJson(response, 200, { object: 'list', model: body.model ?? MODEL, data, usage });
}

/**
 * @param {{ model?: string, query: string, documents: string[], top_n?: number }} body
 * @param {Response} response
 */
function rerank({ model = MODEL, query, documents, top_n: most = documents.length }, response) {
  const asked = vectorOf(query);
  const results = documents
    .map((text, index) => ({ index, relevance_score: dot(asked, vectorOf(text)) }))
    .sort((a, b) => b.relevance_score - a.relevance_score)
    .slice(0, most);
  sendJson(response, 200, { model, results, usage: { total_tokens: documents.length } });
}

/**
 * @param {number[]} one
 * @param {number[]} other
 */
function dot(one, other) {
  return one.reduce((sum, value, place) => sum + value * (other[place] ?? 0), 0);
}

/**
 * @param {ChatRequest} body
 * @param {Response} response
 * @param {{ memory: Memory, signal: AbortSignal }} context
 */
async function complete(body, response, { memory, signal }) {
  memory.requests.push(body);
  if (memory.requests.length > REQUESTS_KEPT) memory.requests.shift();
  checkMessages(body);

  const key = JSON.stringify(body.messages);
  const reply = replyTo(body, { skipFailures: memory.failed.has(key) });
  if (reply.fail) {
    if (reply.fail.once) memory.failed.add(key);
    return sendError(response, reply.fail.status);
  }
  if (reply.hang) return void (await once(signal, 'abort'));
  const answer = { ...answerHead(body), reply, calls: withIds(reply.calls), usage: usageOf(body, reply) };
  await (body.stream ? streamAnswer(answer, response, signal) : sendAnswer(answer, response, signal));
}

/**
 * @typedef {ReturnType<typeof answerHead> & { reply: Reply, calls: ReturnType<typeof withIds>, usage: ReturnType<typeof usageOf> }} Answer
 * @param {ChatRequest} body
 */
function answerHead(body) {
  return {
    id: `chatcmpl-${randomUUID()}`,
    created: Math.floor(Date.now() / 1000),
    model: body.model ?? MODEL,
    includeUsage: body.stream_options?.include_usage === true,
  };
}

/**
 * @param {Answer} answer
 * @param {Response} response
 * @param {AbortSignal} signal
 */
async function sendAnswer({ id, created, model, reply, calls, usage }, response, signal) {
  if (reply.delay) await wait(reply.delay * Math.max(1, reply.text.length), undefined, { signal });
  if (reply.cut) return void response.destroy();
  const content = reply.text.join('');
  const message = {
    role: 'assistant',
    content: content || (calls.length ? null : ''),
    refusal: null,
    ...(reply.reasoning && { reasoning_content: reply.reasoning }),
    ...(calls.length && { tool_calls: calls }),
  };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: reply.finish }];
  sendJson(response, 200, { id, object: 'chat.completion', created, model, choices, usage });
}

/**
 * @param {Answer} answer
 * @param {Response} response
 * @param {AbortSignal} signal
 */
async function streamAnswer(answer, response, signal) {
  const { id, created, model, reply, usage, includeUsage } = answer;
  const head = { id, object: 'chat.completion.chunk', created, model };
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  for (const [delta, finish_reason] of deltasOf(answer)) {
    if (reply.delay) await wait(reply.delay, undefined, { signal });
    const choices = [{ index: 0, delta, logprobs: null, finish_reason }];
    await writeEvent(response, { ...head, choices, ...(includeUsage && { usage: null }) }, signal);
  }
  if (reply.cut) return void response.destroy();
  if (includeUsage) await writeEvent(response, { ...head, choices: [], usage }, signal);
  response.end('data: [DONE]\n\n');
}

/**
 * The deltas of a stream with their finish_reason; only the last one has one, and an answer that is cut has none.
 * @param {Answer} answer
 * @returns {Generator<[delta: object, finish: string | null]>}
 */
function* deltasOf({ reply, calls }) {
  yield [{ role: 'assistant', content: calls.length ? null : '' }, null];
  for (const piece of reply.reasoning.match(/\s*\S+\s*/g) ?? []) yield [{ reasoning_content: piece }, null];
  for (const piece of reply.text) yield [{ content: piece }, null];
  for (const [index, { id, type, function: call }] of calls.entries()) {
    yield [{ tool_calls: [{ index, id, type, function: { name: call.name, arguments: '' } }] }, null];
    for (let at = 0; at < call.arguments.length; at += ARGUMENT_FRAGMENT) {
      const fragment = call.arguments.slice(at, at + ARGUMENT_FRAGMENT);
      yield [{ tool_calls: [{ index, function: { arguments: fragment } }] }, null];
    }
  }
  if (!reply.cut) yield [{}, reply.finish];
}

/**
 * @param {Response} response
 * @param {object} data
 * @param {AbortSignal} signal
 */
async function writeEvent(response, data, signal) {
  const flushed = response.write(`data: ${JSON.stringify(data)}\n\n`);
  // One turn of the event loop per event, so that each leaves on its own and a client that goes away stops the rest.
  await (flushed ? nextTurn(undefined, { signal }) : once(response, 'drain', { signal }));
}

/** @param {import('./model-script.mjs').Call[]} calls */
function withIds(calls) {
  return calls.map(({ name, args }) => ({
    id: `call_${randomUUID().slice(0, 13)}`,
    type: 'function',
    function: { name, arguments: args },
  }));
}

/**
 * @param {Request} request
 * @returns {Promise<any>}
 */
async function readBody(request) {
  request.setEncoding('utf8');
  let text = '';
  for await (const part of request) text += part;
  return JSON.parse(text);
}

/** @param {readonly string[]} models */
function modelList(models) {
  const data = models.map((id) => ({ id, object: 'model', created: 0, owned_by: 'playground' }));
  return { object: 'list', data };
}

/** What goes with a status: [type, code]. */
const ERRORS = /** @type {Record<number, [type: string, code: string | null]>} */ ({
  400: ['invalid_request_error', null],
  401: ['invalid_request_error', 'invalid_api_key'],
  403: ['permission_error', null],
  404: ['invalid_request_error', 'not_found'],
  429: ['rate_limit_error', 'rate_limit_exceeded'],
});

/**
 * @param {Response} response
 * @param {number} status
 * @param {string} [message]
 */
function sendError(response, status, message = `The scripted model was told to answer ${status}.`) {
  const [type, code] = ERRORS[status] ?? ['server_error', null];
  if (status === 429) response.setHeader('retry-after', '1');
  sendJson(response, status, { error: { message, type, param: null, code } });
}

/**
 * @param {Response} response
 * @param {number} status
 * @param {object} body
 */
function sendJson(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

async function main() {
  const { values } = parseArgs({ options: { port: { type: 'string', default: '9101' } } });
  try {
    const { url } = await startModelServer({ port: Number(values.port) });
    console.log(
      `The scripted model listens. Use it with: MODEL_PROVIDER_BASE_URL=${url} MODEL_PROVIDER_API_KEY=any svc dev`,
    );
  } catch (error) {
    const busy = /** @type {NodeJS.ErrnoException} */ (error).code === 'EADDRINUSE';
    console.error(busy ? `Port ${values.port} is in use. Choose another one with --port.` : error);
    process.exitCode = 1;
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) await main();
