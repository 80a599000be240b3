import type { Manifest } from '@svc/runtime/host';
import { emitRegister, headerOf } from './_text.ts';

/** `.svc/connect.d.ts`: the connections by id. One with a problem keeps its id, so that its callers stay whole. */
export function emitConnectTypes({ connections = [] }: Pick<Manifest, 'connections'>): string {
  const header = headerOf(connections.length > 0 ? 'connections/' : undefined);
  const members = connections.map(({ name }) => `    ${JSON.stringify(name)}: unknown;`);
  return [header, emitRegister('ConnectRegister', members), '', 'export {};', ''].join('\n');
}
