// @ts-check
import { once } from 'node:events';
import { createRequire } from 'node:module';

const { WebSocket } = createRequire(new URL('../packages/control-plane/package.json', import.meta.url))('ws');

/** Of one person, who may have as many open and no more. */
const EACH = 20;

/**
 * @typedef {object} Asking
 * @property {object} json
 * @property {string} [cookie]
 */

/**
 * Tunnels without a box behind them, opened by people who are each in an organisation of their own.
 * @param {(path: string, asking: Asking) => Promise<{ headers: Headers, body: any }>} post  throws what is refused
 * @param {{ cookie: string, organization: string }} host  who invites them
 */
export function createTunnels(post, { cookie: host, organization }) {
  /** @type {import('node:events').EventEmitter[]} */
  const open = [];
  let cookie = '';
  const addPerson = async () => {
    const email = `person-${open.length}@example.com`;
    const asked = { json: { email, role: 'member' }, cookie: host };
    const { token: invite } = (await post(`/api/v1/orgs/${organization}/invites`, asked)).body;
    const person = { email, password: 'a password that is long', name: email, invite };
    const { headers } = await post('/api/v1/auth/signup', { json: person });
    cookie = headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const own = await post('/api/v1/orgs', { json: { name: `Tunnels ${open.length}` }, cookie });
    await post('/api/v1/session/organization', { json: { organization: own.body.id }, cookie });
  };
  return {
    /** @param {number} count  how many there are then */
    async openTo(count) {
      while (open.length < count) {
        if (open.length % EACH === 0) await addPerson();
        const { id } = (await post('/api/v1/installations', { json: { name: `box ${open.length}` }, cookie })).body;
        const { relayUrl, token } = (await post(`/api/v1/installations/${id}/tunnel`, { json: {}, cookie })).body;
        const socket = new WebSocket(relayUrl, ['svc-tunnel', token]);
        await once(socket, 'open');
        open.push(socket);
      }
    },
    countOpen: () => open.filter((socket) => /** @type {any} */ (socket).readyState === WebSocket.OPEN).length,
    close: () => open.forEach((socket) => /** @type {any} */ (socket).terminate()),
  };
}
