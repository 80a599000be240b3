import { emitRegister, headerOf } from './_text.ts';

/** `.svc/connect.d.ts`: the connections by id. A workspace declares none. */
export function emitConnectTypes(): string {
  return [headerOf(), emitRegister('ConnectRegister', []), '', 'export {};', ''].join('\n');
}
