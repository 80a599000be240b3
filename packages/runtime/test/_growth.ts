import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { post } from './_growth-shapes.ts';
import type { Shape } from './_growth-shapes.ts';

export interface GrowthBox {
  url: string;
  /** Milliseconds that the event loop was held longest since it was asked before. */
  longest(): Promise<number>;
  /** Milliseconds in which its process, now, encodes and parses a JSON text of so many bytes. */
  yardstick(bytes: number): Promise<number>;
  close(): Promise<void>;
}

export interface Grown {
  size: number;
  bytes: number;
  status: number;
  /** Milliseconds of the event loop. */
  held: number;
  /** The same of what is asked of its run, the longest of it. */
  read: number;
}

export async function startGrowthBox(databaseUrl?: string): Promise<GrowthBox> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-growth-'));
  const child = fork(BOX, [folder, ...(databaseUrl === undefined ? [] : [databaseUrl])], {
    execArgv: process.env['GROWTH_EXEC']?.split(' ') ?? [],
  });
  const { url } = (await messageOf(child)) as { url: string };
  return {
    url,
    async longest() {
      return ((await ask(child, 'longest')) as { longest: number }).longest;
    },
    async yardstick(bytes) {
      return ((await ask(child, bytes)) as { yardstick: number }).yardstick;
    },
    async close() {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Makes a request four times as large until it is refused, or has so many bytes; then comes as near to that as is worth it. */
export async function grow(
  box: GrowthBox,
  shape: Shape,
  { bytes, steps }: { bytes: number; steps: number },
): Promise<Grown[]> {
  const last = Math.floor(Math.min(bytes, shape.limit) / shape.step);
  const grown = [await send(box, shape, 1)];
  let refused: number | undefined;
  for (let n = steps; n >= 0 && refused === undefined; n--) {
    const one = await send(box, shape, Math.max(1, Math.floor(last / FACTOR ** n)));
    grown.push(one);
    if (isRefused(one) && !shape.isWrong) refused = one.size;
  }
  let accepted = grown.findLast((one) => !isRefused(one))?.size ?? 1;
  for (let n = 0; n < HALVINGS && refused !== undefined; n++) {
    const one = await send(box, shape, Math.floor((accepted + refused) / 2));
    grown.push(one);
    if (isRefused(one)) refused = one.size;
    else accepted = one.size;
  }
  return grown;
}

// --- internal ---

const BOX = fileURLToPath(new URL('fixtures/growth-box.mjs', import.meta.url));

/** Of so much more a square takes sixteen times as long: more than noise makes of it, and fewer requests than by doubling. */
const FACTOR = 4;

/** How often the size is halved that lies between one that is accepted and one that is not. */
const HALVINGS = 4;

function isRefused({ status }: Grown): boolean {
  return status >= 400;
}

async function ask(child: ChildProcess, what: string | number): Promise<unknown> {
  const answer = messageOf(child);
  child.send(what);
  return await answer;
}

async function messageOf(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController();
  const exit = once(child, 'exit', { signal: ended.signal }).then(([code]) => {
    throw new Error(`The box has ended with ${code}.`);
  });
  const [message] = (await Promise.race([once(child, 'message'), exit])) as [unknown];
  exit.catch(() => {});
  ended.abort();
  return message;
}

async function send(box: GrowthBox, shape: Shape, size: number): Promise<Grown> {
  const { path, make, headers, prepare, isQuery } = shape;
  const body = isQuery ? String(new URLSearchParams(make(size) as Record<string, string>)) : JSON.stringify(make(size));
  const url = box.url + path.replace(':id', (await prepare?.(box.url)) ?? '');
  await box.longest();
  const watched = watchLive(box);
  const answer = isQuery ? await fetch(`${url}?${body}`) : await post(url, body, headers?.());
  const text = await answer.text();
  const held = await box.longest();
  let read = 0;
  const { runId } = answer.status === 202 && path.endsWith('/start') ? (JSON.parse(text) as { runId?: string }) : {};
  for (const what of runId === undefined ? [] : ['?wait=20s', '/steps', '/export', '/why']) {
    await (await fetch(`${box.url}/api/runs/${runId}${what}`)).text();
    read = Math.max(read, await box.longest());
  }
  await watched.end();
  return { size, bytes: Buffer.byteLength(body), status: answer.status, held, read };
}

/** Asks `/live` all the time. */
function watchLive({ url }: GrowthBox): { end(): Promise<void> } {
  const over = new AbortController();
  const watching = (async () => {
    while (!over.signal.aborted) {
      const answer = await fetch(`${url}/live`);
      await answer.text();
      if (answer.status !== 200) throw new Error(`/live answered ${answer.status}.`);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  })();
  watching.catch(() => {});
  return {
    end() {
      over.abort();
      return watching;
    },
  };
}
