import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** Stands before a server and can be cut off from it. */
export interface Proxy {
  /** The address given, by way of the proxy. */
  url: string;
  /** Ends every connection and takes no more. */
  cut(): void;
  /** Keeps connections, and lets nothing through in either direction. */
  swallow(): void;
  restore(): void;
  close(): Promise<void>;
}

export async function startProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const pairs = new Set<[Socket, Socket]>();
  let state: 'open' | 'cut' | 'swallowing' = 'open';
  const server = createServer((client) => {
    if (state === 'cut') return void client.destroy();
    const upstream = connect(Number(port), hostname);
    const pair: [Socket, Socket] = [client, upstream];
    pairs.add(pair);
    const end = (): void => {
      pairs.delete(pair);
      for (const socket of pair) socket.destroy();
    };
    for (const socket of pair) socket.on('error', end).on('close', end);
    client.on('data', (data) => state === 'open' && upstream.write(data));
    upstream.on('data', (data) => state === 'open' && client.write(data));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(target);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cut = (): void => {
    for (const [client] of pairs) client.destroy();
  };
  return {
    url: url.href,
    cut() {
      state = 'cut';
      cut();
    },
    swallow: () => void (state = 'swallowing'),
    restore: () => void (state = 'open'),
    close() {
      cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
