// @ts-check
/**
 * The chat stream of one box, asked directly, through the proxy of a standalone control plane, and through the tunnel of a
 * full one; each in a process of its own, in alternated rounds.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from './_child.mjs';
import { startPlane } from './_plane-process.mjs';
import { median, round } from './_stats.mjs';
import { sendTurn } from './_turn.mjs';

const ROUNDS = 5;
const SHORT = 40;
const LONG = 20;
const CHUNKS = 1_000;
const TARGETS = { proxy: { addedMs: 2, share: 0.8 }, tunnel: { addedMs: 5, share: 0.5 } };

/** What a box under development takes; the proxy brings the operator's token by itself. */
const DEV = { authorization: 'Bearer dev' };

/** @typedef {{ url: string, headers: Record<string, string> }} Way */

/** @param {(line: object) => void} print */
export async function benchStreams(print) {
  const root = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'svc-bench-plane-'));
  const provider = startChild('_agent-provider.mjs', {});
  const children = [provider];
  /** @type {Awaited<ReturnType<typeof startPlane>>[]} */
  const planes = [];
  try {
    const place = { type: 'sqlite', path: join(root, 'box.db'), durability: 'process' };
    const box = startChild('_agent-box.mjs', { provider: await provider.ask('open'), place });
    children.push(box);
    const boxUrl = await box.ask('open');
    const token = randomBytes(32).toString('hex');
    const standalone = await startPlane({ STUDIO_STANDALONE_TOKEN: token, SVC_RUNTIME_INTERNAL_URL: boxUrl });
    const full = await startPlane({
      PLANE_SECRET_KEY: randomBytes(32).toString('base64'),
      PLANE_DATA_DIR: join(root, 'plane'),
    });
    planes.push(standalone, full);
    const opened = await openTunnel(full.url);
    const end = startChild('_tunnel-end.mjs', { ...opened, port: Number(new URL(boxUrl).port) });
    children.push(end);
    await end.ask('open');
    const path = '/wire-a/v1/chat/completions';
    /** @type {Record<string, Way>} */
    const ways = {
      box: { url: boxUrl + path, headers: DEV },
      proxy: { url: `${standalone.url}/box${path}`, headers: await logIn(standalone.url, token) },
      tunnel: { url: `${full.url}${path}`, headers: { ...DEV, host: new URL(opened.publicUrl).host } },
    };
    for (const way of Object.values(ways)) for (let n = 0; n < 50; n++) await sendTurn(way, 'please long');
    /** @type {Record<string, { first: number[], perSecond: number[] }>} */
    const seen = Object.fromEntries(Object.keys(ways).map((name) => [name, { first: [], perSecond: [] }]));
    for (let turn = 0; turn < ROUNDS; turn++)
      for (const [name, way] of Object.entries(ways)) {
        for (let n = 0; n < SHORT; n++) seen[name]?.first.push((await sendTurn(way, 'please short')).firstMs);
        for (let n = 0; n < LONG; n++)
          seen[name]?.perSecond.push((CHUNKS * 1_000) / (await sendTurn(way, 'please long')).ms);
      }
    const ofBox = { first: median(seen.box?.first ?? []), perSecond: median(seen.box?.perSecond ?? []) };
    for (const name of /** @type {const} */ (['proxy', 'tunnel'])) {
      const addedMs = median(seen[name]?.first ?? []) - ofBox.first;
      const share = median(seen[name]?.perSecond ?? []) / ofBox.perSecond;
      print({
        bench: `plane.${name}`,
        firstTextMs: round(ofBox.first + addedMs, 2),
        boxFirstTextMs: round(ofBox.first, 2),
        addedMs: round(addedMs, 2),
        chunksPerSecond: round(share * ofBox.perSecond),
        boxChunksPerSecond: round(ofBox.perSecond),
        share: round(share, 2),
        target: TARGETS[name],
        ok: addedMs <= TARGETS[name].addedMs && share >= TARGETS[name].share,
      });
    }
  } finally {
    await Promise.all(children.map((child) => child.kill()));
    await Promise.all(planes.map((plane) => plane.stop()));
    rmSync(root, { recursive: true, force: true });
  }
}

// --- internal ---

/**
 * @param {string} url
 * @param {string} token
 */
async function logIn(url, token) {
  const answer = await post(url, '/api/v1/self-host/login', { token });
  return { cookie: answer.headers.getSetCookie()[0]?.split(';')[0] ?? '', origin: url };
}

/** @param {string} url */
async function openTunnel(url) {
  const person = { email: 'ada@example.com', password: 'a password that is long', name: 'Ada', organization: 'Acme' };
  const cookie = (await post(url, '/api/v1/auth/signup', person)).headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const { id } = await read(await post(url, '/api/v1/installations', { name: 'shop' }, cookie));
  const opened = await read(await post(url, `/api/v1/installations/${id}/tunnel`, {}, cookie));
  return /** @type {{ relayUrl: string, token: string, publicUrl: string }} */ (opened);
}

/**
 * @param {string} url
 * @param {string} path
 * @param {object} body
 */
function post(url, path, body, cookie = '') {
  const headers = { 'content-type': 'application/json', origin: url, cookie };
  return fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
}

/**
 * @param {Response} answer
 * @returns {Promise<any>}
 */
async function read(answer) {
  if (!answer.ok) throw new Error(`The control plane answered ${answer.status}: ${await answer.text()}`);
  return answer.json();
}
