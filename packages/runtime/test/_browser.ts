import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { onTestFinished } from 'vitest';
import type { Requirement } from './require.ts';

/** The headless shell first: the same engine, for half the processor time of a whole browser. */
const INSTALLED = ['/usr/lib/chromium/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/google-chrome'];

/** The path of a Chromium. */
export const browser: Requirement<string> = {
  value: process.env.CHROMIUM_PATH || INSTALLED.find((path) => existsSync(path)),
  missing: 'a Chromium (CI_CHROMIUM=1 .ci/services.sh, or set CHROMIUM_PATH to its path)',
};

export interface Page {
  /** Addresses the page asked for. */
  requests: string[];
  /** What it said in the console, and what the browser refused. */
  complaints: string[];
  goto(url: string): Promise<void>;
  /** As from a keyboard, into whatever has the focus. */
  type(text: string): Promise<void>;
  press(key: Key): Promise<void>;
  /** The value of an expression in the page. */
  evaluate<T>(expression: string): Promise<T>;
}

export type Key = keyof typeof KEYS;

export interface PageOptions {
  /** Default: true. */
  scripts?: boolean;
}

/** A page of a browser of its own, which ends with the test. Nothing but this machine has an address for it. */
export async function openPage(path: string, { scripts = true }: PageOptions = {}): Promise<Page> {
  const send = await startBrowser(path);
  const requests: string[] = [];
  const complaints: string[] = [];
  const { targetId } = await send<{ targetId: string }>('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await send<{ sessionId: string }>('Target.attachToTarget', { targetId, flatten: true });
  send.onEvent = ({ method, params }) => {
    if (method === 'Network.requestWillBeSent') requests.push((params as { request: { url: string } }).request.url);
    if (method === 'Log.entryAdded') complaints.push((params as { entry: { text: string } }).entry.text);
    if (method === 'Runtime.exceptionThrown') complaints.push(JSON.stringify(params));
  };
  for (const domain of ['Network', 'Log', 'Runtime', 'Page']) await send(`${domain}.enable`, {}, sessionId);
  // A window that no one looks at has no focus, and shows none.
  await send('Emulation.setFocusEmulationEnabled', { enabled: true }, sessionId);
  if (!scripts) await send('Emulation.setScriptExecutionDisabled', { value: true }, sessionId);
  return {
    requests,
    complaints,
    goto: async (url) => void (await send('Page.navigate', { url }, sessionId)),
    type: async (text) => void (await send('Input.insertText', { text }, sessionId)),
    async press(key) {
      const about = { key, code: key, ...KEYS[key] };
      await send('Input.dispatchKeyEvent', { type: 'keyDown', ...about }, sessionId);
      await send('Input.dispatchKeyEvent', { type: 'keyUp', ...about }, sessionId);
    },
    async evaluate<T>(expression: string) {
      const answer = await send<{ result: { value: T } }>(
        'Runtime.evaluate',
        { expression, returnByValue: true },
        sessionId,
      );
      return answer.result.value;
    },
  };
}

// --- internal ---

const KEYS = { Tab: { windowsVirtualKeyCode: 9 }, Enter: { windowsVirtualKeyCode: 13, text: '\r' } };

interface Message {
  id?: number;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: { message: string };
}

interface Send {
  <T>(method: string, params: object, sessionId?: string): Promise<T>;
  onEvent(message: Message): void;
}

const FLAGS = [
  '--headless=new',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost',
  '--remote-debugging-pipe',
];

async function startBrowser(path: string): Promise<Send> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-browser-'));
  const child = spawn(path, [...FLAGS, `--user-data-dir=${folder}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await gone;
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  const [into, from] = [child.stdio[3] as Writable, child.stdio[4] as Readable];
  // One that is killed with something on its way resets its pipes, which is no fault of a test.
  for (const pipe of [into, from]) pipe.on('error', () => {});
  return talk(into, from);
}

/** Messages are JSON with a NUL after each. */
function talk(into: Writable, from: Readable): Send {
  const waiting = new Map<number, { resolve(value: never): void; reject(error: Error): void }>();
  let id = 0;
  const send: Send = Object.assign(
    <T>(method: string, params: object, sessionId?: string): Promise<T> => {
      into.write(`${JSON.stringify({ id: ++id, method, params, ...(sessionId ? { sessionId } : {}) })}\0`);
      return new Promise<T>((resolve, reject) => waiting.set(id, { resolve, reject }));
    },
    { onEvent: (_message: Message) => {} },
  );
  let rest = '';
  from.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\0');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const message = JSON.parse(part) as Message;
      const asked = waiting.get(message.id ?? 0);
      if (!asked) send.onEvent(message);
      else if (message.error) asked.reject(new Error(message.error.message));
      else asked.resolve(message.result as never);
    }
  });
  return send;
}
