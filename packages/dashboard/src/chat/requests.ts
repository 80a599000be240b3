import { newId } from '../api/new-id.ts';

/** What a page has asked of an agent, for other clients of the box to ask. */
export interface ShownRequest {
  /** Of the box: `http://127.0.0.1:4242`. */
  baseUrl: string;
  agent: string;
  threadId: string;
  message: string;
}

export interface RequestText {
  id: 'curl' | 'curl-b' | 'curl-agui' | 'openai' | 'anthropic' | 'ai-sdk';
  title: string;
  text: string;
}

/** The same request in each of the usual ways. The key stands in `BOX_KEY`; at `svc dev` any text will do. */
export function toRequestTexts(request: ShownRequest): RequestText[] {
  return [
    { id: 'curl', title: 'curl, chat completions', text: toCurl(request) },
    { id: 'curl-b', title: 'curl, messages', text: toCurlOfMessages(request) },
    { id: 'curl-agui', title: 'curl, AG-UI', text: toCurlOfAgui(request) },
    { id: 'openai', title: 'openai', text: toOpenAi(request) },
    { id: 'anthropic', title: 'anthropic', text: toAnthropic(request) },
    { id: 'ai-sdk', title: 'AI SDK', text: toAiSdk(request) },
  ];
}

// --- internal ---

function toCurl({ baseUrl, agent, threadId, message }: ShownRequest): string {
  const body = JSON.stringify({ model: agent, messages: [{ role: 'user', content: message }] });
  return [
    `curl -s ${quote(`${baseUrl}/wire-a/v1/chat/completions`)} \\`,
    `  -H "authorization: Bearer $BOX_KEY" -H 'content-type: application/json' \\`,
    `  -H ${quote(`x-svc-session: ${threadId}`)} \\`,
    `  -d ${quote(body)}`,
  ].join('\n');
}

function toCurlOfMessages({ baseUrl, agent, threadId, message }: ShownRequest): string {
  const body = JSON.stringify({ model: agent, max_tokens: 4096, messages: [{ role: 'user', content: message }] });
  return [
    `curl -s ${quote(`${baseUrl}/wire-b/v1/messages`)} \\`,
    `  -H "x-api-key: $BOX_KEY" -H 'content-type: application/json' \\`,
    `  -H ${quote(`x-svc-session: ${threadId}`)} \\`,
    `  -d ${quote(body)}`,
  ].join('\n');
}

/** Each run of it, and each message, has an id of its own: the box takes one it knows for what it knows. */
function toCurlOfAgui({ baseUrl, agent, threadId, message }: ShownRequest): string {
  const [runId, id] = [newId(), newId()];
  const body = JSON.stringify({ threadId, runId, messages: [{ id, role: 'user', content: message }] });
  return [
    `curl -sN ${quote(`${baseUrl}/agui/v1/agents/${encodeURIComponent(agent)}`)} \\`,
    `  -H "authorization: Bearer $BOX_KEY" -H 'content-type: application/json' \\`,
    `  -d ${quote(body)}`,
  ].join('\n');
}

function toOpenAi({ baseUrl, agent, threadId, message }: ShownRequest): string {
  return `import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: ${text(`${baseUrl}/wire-a/v1`)},
  apiKey: process.env.BOX_KEY,
  defaultHeaders: { 'x-svc-session': ${text(threadId)} },
});
const answer = await client.chat.completions.create({
  model: ${text(agent)},
  messages: [{ role: 'user', content: ${text(message)} }],
});
console.log(answer.choices[0].message.content);`;
}

function toAnthropic({ baseUrl, agent, threadId, message }: ShownRequest): string {
  return `import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({
  baseURL: ${text(`${baseUrl}/wire-b`)},
  apiKey: process.env.BOX_KEY,
  defaultHeaders: { 'x-svc-session': ${text(threadId)} },
});
const answer = await client.messages.create({
  model: ${text(agent)},
  max_tokens: 4096,
  messages: [{ role: 'user', content: ${text(message)} }],
});
console.log(answer.content);`;
}

function toAiSdk({ baseUrl, agent, threadId, message }: ShownRequest): string {
  return `import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText } from 'ai';

const box = createOpenAICompatible({
  name: 'svc',
  baseURL: ${text(`${baseUrl}/wire-a/v1`)},
  apiKey: process.env.BOX_KEY,
  headers: { 'x-svc-session': ${text(threadId)} },
});
const answer = await generateText({
  model: box(${text(agent)}),
  prompt: ${text(message)},
});
console.log(answer.text);`;
}

/** For a shell. */
function quote(value: string): string {
  return `'${value.replaceAll("'", String.raw`'\''`)}'`;
}

/** As a literal of JavaScript. */
function text(value: string): string {
  return JSON.stringify(value);
}
