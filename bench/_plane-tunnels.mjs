// @ts-check
import { once } from 'node:events';
import { createRequire } from 'node:module';

const { WebSocket } = createRequire(new URL('../packages/control-plane/package.json', import.meta.url))('ws');

/** Of an organisation, which has at most 500 installations. */
const EACH = 400;

/**
 * Tunnels without a box behind them, opened by one person.
 * @param {(path: string, json: object) => Promise<any>} post
 */
export function createTunnels(post) {
  /** @type {import('node:events').EventEmitter[]} */
  const open = [];
  return {
    /** @param {number} count  how many there are then */
    async openTo(count) {
      while (open.length < count) {
        if (open.length % EACH === 0) {
          const { id: organization } = await post('/api/v1/orgs', { name: `Tunnels ${open.length}` });
          await post('/api/v1/session/organization', { organization });
        }
        const { id } = await post('/api/v1/installations', { name: `box ${open.length}` });
        const { relayUrl, token } = await post(`/api/v1/installations/${id}/tunnel`, {});
        const socket = new WebSocket(relayUrl, ['svc-tunnel', token]);
        await once(socket, 'open');
        open.push(socket);
      }
    },
    countOpen: () => open.filter((socket) => /** @type {any} */ (socket).readyState === WebSocket.OPEN).length,
    close: () => open.forEach((socket) => /** @type {any} */ (socket).terminate()),
  };
}
