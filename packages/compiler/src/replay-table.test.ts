import { describe, expect, it } from 'vitest';
import { listRefusals } from '../../runtime/src/engine/guard/refusals.ts';
import { findAdvice, mayCallRefused } from './replay-table.ts';

const MODULES = [
  'fs',
  'fs/promises',
  'net',
  'tls',
  'dgram',
  'dns',
  'dns/promises',
  'http',
  'https',
  'http2',
  'child_process',
  'worker_threads',
  'cluster',
  'crypto',
  'os',
  'v8',
  'perf_hooks',
  'zlib',
  'vm',
  'stream/web',
];

const isKnown = (from: string, path: string) => findAdvice({ from, path }) !== undefined;

describe('the table of calls a replay cannot repeat', () => {
  const refused = listRefusals().map(({ label }) => label.replace(/^new |\(\)$/g, ''));

  it.each(MODULES)('has of node:%s what the guard refuses while a body runs', (module) => {
    const prefix = `${module.replace('/', '.')}.`;
    const names = refused.filter((label) => label.startsWith(prefix)).map((label) => label.slice(prefix.length));
    const plain = names.filter((name) => !name.includes('.') && !(module === 'fs' && name === 'promises'));
    expect(plain.filter((name) => !isKnown(`node:${module}`, name))).toEqual([]);
  });

  it('has every global the guard refuses, and no other', () => {
    const globals = refused.filter((label) =>
      /^(?:AbortSignal\.|Atomics\.|URL\.|performance\.|process\.)?[a-z]+$/i.test(label),
    );
    const others = ['Date', 'Math.random', 'crypto.randomUUID', 'queueMicrotask', 'process.nextTick', 'hasOwnProperty'];
    expect(globals).toContain('fetch');
    expect([...globals, ...others].filter((path) => !isKnown('globalThis', path))).toEqual(others);
  });

  it('knows packages by their whole name, and leaves their helpers alone', () => {
    expect(isKnown('axios', 'default.get')).toBe(true);
    expect(isKnown('axios', 'default.isAxiosError')).toBe(false);
    expect(isKnown('axios', 'AxiosError')).toBe(false);
    expect(isKnown('openai/helpers/zod', 'zodTextFormat')).toBe(false);
    expect(isKnown('pg-format', 'default')).toBe(false);
    expect(isKnown('net', 'isIP')).toBe(false);
  });

  it.each([`fetch(url)`, `import fs from "fs";`, `import('node:net')`, `import x from 'openai';`])(
    'is asked of code such as %s',
    (code) => expect(mayCallRefused(code)).toBe(true),
  );

  it('is not asked of code that has nothing of it', () => {
    expect(mayCallRefused(`import { sleep } from '@svc/runtime';\nexport const a = () => sleep(1);`)).toBe(false);
  });
});
