import { usageError } from './errors.ts';

/** What --port says. `example`: a command line that is right. */
export function parsePort(text: string, example: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65_535) return port;
  throw usageError(`The port "${text}" is not a whole number from 1 to 65535.`, `For example: ${example}`);
}
