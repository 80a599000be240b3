import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import { onTestFinished } from 'vitest';

/** Names as `answer` has them; undefined: as they are. Answers how often one was asked for. */
export function fakeLookup(answer: (name: string) => string[] | undefined): () => number {
  const original = dns.lookup;
  let asked = 0;
  const fake = (name: string, options: dns.LookupAllOptions, done: (...result: unknown[]) => void) => {
    const addresses = answer(name);
    if (!addresses) return (original as (...given: unknown[]) => void)(name, options, done);
    asked += 1;
    return done(
      null,
      addresses.map((address) => ({ address, family: 4 })),
    );
  };
  dns.lookup = fake as unknown as typeof dns.lookup;
  syncBuiltinESMExports();
  onTestFinished(() => {
    dns.lookup = original;
    syncBuiltinESMExports();
  });
  return () => asked;
}
