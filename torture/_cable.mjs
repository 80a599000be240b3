// @ts-check
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/**
 * Which way nothing comes through: from the box to the server, from the server to the box, or neither.
 * @typedef {'up' | 'down' | 'both'} Direction
 */

/**
 * The network between one box and its server. What is sent while it is cut is neither lost nor refused, as TCP has it: it
 * arrives once the cable is mended. Either end sees an open connection all the while.
 * @param {string} url  of the server
 */
export async function layCable(url) {
  const { hostname, port } = new URL(url);
  /** @type {Set<{ box: import('node:net').Socket, server: import('node:net').Socket }>} */
  const wires = new Set();
  /** @type {Direction | undefined} */
  let isCut;
  const flow = (/** @type {{ box: import('node:net').Socket, server: import('node:net').Socket }} */ wire) => {
    const isUp = isCut !== 'up' && isCut !== 'both';
    const isDown = isCut !== 'down' && isCut !== 'both';
    if (isUp) wire.box.pipe(wire.server);
    else wire.box.unpipe(wire.server).pause();
    if (isDown) wire.server.pipe(wire.box);
    else wire.server.unpipe(wire.box).pause();
  };
  const relay = createServer((box) => {
    const wire = { box, server: connect(Number(port), hostname) };
    const drop = () => {
      wires.delete(wire);
      box.destroy();
      wire.server.destroy();
    };
    for (const end of [box, wire.server]) end.on('error', drop).on('close', drop);
    wires.add(wire);
    flow(wire);
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String(/** @type {import('node:net').AddressInfo} */ (relay.address()).port);
  return {
    url: through.href,
    /** @param {Direction} direction */
    cut(direction) {
      isCut = direction;
      wires.forEach(flow);
    },
    /** What is sent to the server on the connections there are is lost from now on; new ones are made. */
    swallow() {
      for (const { box, server } of wires) box.unpipe(server).resume();
    },
    /** What was held goes on its way. */
    mend() {
      isCut = undefined;
      wires.forEach(flow);
    },
    /** As a router that has forgotten its connections: what was held is gone, and new ones are made. */
    reset() {
      isCut = undefined;
      for (const { box, server } of wires) {
        box.destroy();
        server.destroy();
      }
    },
    close() {
      this.reset();
      relay.close();
    },
  };
}
