import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A network in front of a box that can be taken away. */
export interface Cuttable {
  /** `http://127.0.0.1:<port>` */
  url: string;
  /** How many streams of events are open through it. */
  openEvents(): number;
  /** How many were opened so far. */
  openedEvents(): number;
  /** Ends every connection, and every new one until `heal`. */
  cut(): void;
  heal(): void;
}

export async function openCuttable(target: string): Promise<Cuttable> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const events = new Set<Socket>();
  let opened = 0;
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) return void near.destroy();
    const far = connect(Number(port), hostname);
    sockets.add(near);
    const end = (): void => {
      sockets.delete(near);
      events.delete(near);
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) socket.on('error', end).on('close', end);
    near.on('data', (bytes) => {
      const request = /^(GET|POST|OPTIONS|HEAD|DELETE|PUT|PATCH) (\S+) /.exec(bytes.toString('latin1'));
      if (request?.[1] === 'GET' && request[2]?.startsWith('/api/events')) {
        events.add(near);
        opened += 1;
      } else if (request) events.delete(near);
      far.write(bytes);
    });
    far.on('data', (bytes) => near.write(bytes));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => sockets.forEach((socket) => socket.destroy());
  onTestFinished(() => {
    cut();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    openEvents: () => events.size,
    openedEvents: () => opened,
    cut() {
      isCut = true;
      cut();
    },
    heal: () => void (isCut = false),
  };
}
