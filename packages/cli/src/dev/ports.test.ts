import { expect, test } from 'vitest';
import { readPorts } from './ports.ts';

test('no default port is one that Linux gives to connections that go out', () => {
  const ports = Object.values(readPorts({}, undefined));
  expect(ports).toHaveLength(3);
  for (const port of ports) expect(port).toBeLessThan(32_768);
});
