// @ts-check
/**
 * A control plane in a process of its own, asked over HTTP by `LANES` callers at once for `SECONDS`, per store:
 *   tokens    identity tokens minted with the cookie of a person, per second
 *   polls     polls of a device code that no one has approved, per second: each lane has one code, and is told to slow down
 *   refreshes refresh tokens rotated, per second: each lane has a session of its own
 *   tokens, polls   again with 100 and 500 tunnels open, the most there may be, of which each write asks whether they are still good
 *   memory    MiB of the process once it listens, and after that work
 *   proxy, tunnel   a chat stream of one box through them, beside the box alone: first text, chunks a second
 * The packages are measured as they are built: build them first.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openServer } from './_engine-stores.mjs';
import { startPlane } from './_plane-process.mjs';
import { benchStreams } from './_plane-streams.mjs';
import { createTunnels } from './_plane-tunnels.mjs';
import { quantile, round } from './_stats.mjs';

/**
 * @param {(line: object) => void} print
 * @param {{ only?: string }} [options]  `only`: the stores with that in their name
 */
export async function run(print, { only = '' } = {}) {
  for (const store of ['sqlite', 'postgres'].filter((name) => name.includes(only))) {
    if (store === 'postgres' && !DATABASE_URL)
      print({ bench: 'plane', store, skipped: 'SVC_TEST_DATABASE_URL is not set' });
    else await benchStore(store, print);
  }
  await benchStreams(print);
}

// --- internal ---

const DATABASE_URL = process.env.SVC_TEST_DATABASE_URL;
const SECONDS = Number(process.env.BENCH_PLANE_SECONDS ?? 5);
const LANES = 8;
const TUNNELS = [100, 500];
const IDLE_TARGET_MIB = 90;
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

/**
 * @param {string} store
 * @param {(line: object) => void} print
 */
async function benchStore(store, print) {
  const opened = await openStore(store);
  const plane = await startPlane({ ...opened.env, PLANE_SECRET_KEY: randomBytes(32).toString('base64') });
  try {
    const idle = plane.readMib();
    print({ bench: 'plane.memory', store, idleMib: idle, target: IDLE_TARGET_MIB, ok: idle <= IDLE_TARGET_MIB });
    const { cookie, organization, installation } = await prepare(plane.url);
    const tunnels = createTunnels((path, asking) => sendWell(plane.url, path, asking), { cookie, organization });
    const say = async (/** @type {string} */ bench, /** @type {(() => Promise<number>)[]} */ lanes) =>
      print({
        bench: `plane.${bench}`,
        store,
        ...opened.settings,
        lanes: LANES,
        tunnels: tunnels.countOpen(),
        ...(await measure(lanes, plane.readCpuMs)),
      });
    const path = `/api/v1/installations/${installation}/token`;
    const mint = async () => (await send(plane.url, path, { json: { use: 'operate' }, cookie })).status;
    await say(
      'tokens',
      everyLane(() => mint),
    );
    const codes = await Promise.all(everyLane(() => startDevice(plane.url)));
    const poll = (/** @type {string} */ code) => async () =>
      (await send(plane.url, '/oauth/token', { form: { grant_type: DEVICE_GRANT, device_code: code } })).status;
    await say(
      'polls',
      codes.map(({ device_code: code }) => poll(code)),
    );
    for (const { user_code: userCode } of codes)
      await send(plane.url, '/device', { cookie, json: { user_code: userCode, organization, decision: 'approve' } });
    await say('refreshes', await Promise.all(codes.map(({ device_code: code }) => openSession(plane.url, code))));
    print({ bench: 'plane.memory', store, afterMib: plane.readMib() });
    for (const count of TUNNELS) {
      await tunnels.openTo(count);
      await say(
        'tokens',
        everyLane(() => mint),
      );
      const more = await Promise.all(everyLane(() => startDevice(plane.url)));
      await say(
        'polls',
        more.map(({ device_code: code }) => poll(code)),
      );
    }
    print({ bench: 'plane.memory', store, tunnels: tunnels.countOpen(), withTunnelsMib: plane.readMib() });
    tunnels.close();
  } finally {
    await plane.stop();
    await opened.close();
  }
}

/**
 * @template T
 * @param {(lane: number) => T} make
 */
function everyLane(make) {
  return Array.from({ length: LANES }, (_, lane) => make(lane));
}

/**
 * @param {(() => Promise<number>)[]} lanes  each answers a status
 * @param {() => number} readCpuMs  of the control plane: what a request takes of it does not go with the load of the machine
 */
async function measure(lanes, readCpuMs) {
  /** @type {number[]} */
  const took = [];
  const statuses = new Set();
  const cpuMs = readCpuMs();
  const end = performance.now() + SECONDS * 1_000;
  await Promise.all(
    lanes.map(async (ask) => {
      while (performance.now() < end) {
        const start = performance.now();
        statuses.add(await ask());
        took.push(performance.now() - start);
      }
    }),
  );
  const ms = (/** @type {number} */ q) => round(quantile(took, q), 1);
  return {
    perSecond: round(took.length / SECONDS),
    p50Ms: ms(0.5),
    p99Ms: ms(0.99),
    cpuMsEach: round((readCpuMs() - cpuMs) / took.length, 2),
    statuses: [...statuses],
  };
}

/** @param {string} url */
async function prepare(url) {
  const person = { email: 'ada@example.com', password: 'a password that is long', name: 'Ada', organization: 'Acme' };
  const { headers, body } = await send(url, '/api/v1/auth/signup', { json: person });
  const cookie = headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const made = await send(url, '/api/v1/installations', { json: { name: 'shop' }, cookie });
  return { cookie, organization: body.organization.id, installation: made.body.id };
}

/** @param {string} url */
async function startDevice(url) {
  return (await send(url, '/oauth/device_authorization', { form: { device_name: 'bench' } })).body;
}

/**
 * A session that is refreshed by each call.
 * @param {string} url
 * @param {string} code
 */
async function openSession(url, code) {
  let { body } = await send(url, '/oauth/token', { form: { grant_type: DEVICE_GRANT, device_code: code } });
  return async () => {
    const form = { grant_type: 'refresh_token', refresh_token: body.refresh_token };
    const answer = await send(url, '/oauth/token', { form });
    body = answer.body;
    return answer.status;
  };
}

/**
 * @param {string} url
 * @param {string} path
 * @param {{ json?: object, form?: Record<string, string>, cookie?: string }} what
 */
async function send(url, path, { json, form, cookie }) {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: {
      'content-type': form ? 'application/x-www-form-urlencoded' : 'application/json',
      origin: url,
      ...(cookie === undefined ? {} : { cookie }),
    },
    body: form ? new URLSearchParams({ client_id: 'svc-cli', ...form }).toString() : JSON.stringify(json),
  });
  return { status: response.status, headers: response.headers, body: /** @type {any} */ (await response.json()) };
}

/**
 * The same, where anything but a success is an error.
 * @param {string} url
 * @param {string} path
 * @param {{ json: object, cookie?: string }} what
 */
async function sendWell(url, path, what) {
  const answer = await send(url, path, what);
  if (answer.status < 300) return answer;
  throw new Error(`${path} is answered ${answer.status}: ${JSON.stringify(answer.body)}`);
}

/** @param {string} store */
async function openStore(store) {
  if (store === 'postgres') {
    const { settings, place, close } = await openServer();
    const at = place('plane');
    const env = /** @type {Record<string, string>} */ ({ PLANE_DATABASE_URL: 'url' in at ? at.url : '' });
    return { env, settings, close };
  }
  const folder = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'svc-bench-plane-'));
  const env = /** @type {Record<string, string>} */ ({ PLANE_DATA_DIR: folder });
  return { env, settings: {}, close: async () => rmSync(folder, { recursive: true, force: true }) };
}
