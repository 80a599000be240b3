import { networkInterfaces } from 'node:os';

const LOOPBACK = new Set(['127.0.0.1', 'localhost', '[::1]']);

/**
 * The Host names a dev box answers to, whatever the port: loopback, and under `--listen` the machine's own addresses.
 * A name that merely resolves to this machine is refused (DNS rebinding).
 */
export function createHostCheck(options: { listen: boolean }): (host: string) => boolean {
  return (host) => {
    const name = hostname(host);
    return LOOPBACK.has(name) || (options.listen && ownAddresses().has(name));
  };
}

// --- internal ---

function hostname(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, '');
}

function ownAddresses(): Set<string> {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return new Set(all.map(({ address, family }) => (family === 'IPv6' ? `[${address.toLowerCase()}]` : address)));
}
