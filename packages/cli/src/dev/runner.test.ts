import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createRunnableDevEnvironment, createServer } from 'vite';
import type { RunnableDevEnvironment } from 'vite';
import { expect, it, onTestFinished } from 'vitest';
import { createRunner } from './runner.ts';

it('a module finds itself and others through import.meta, as it does in Node', async () => {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'svc-runner-')));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const file = join(root, 'place.ts');
  await writeFile(
    file,
    `export const { url, filename, dirname, main } = import.meta as Record<string, unknown>;
     export const found = import.meta.resolve('./other.ts');
     export const builtin = import.meta.resolve('fs');`,
  );
  const environment = await startEnvironment(root);
  expect(await environment.runner.import(file)).toMatchObject({
    url: pathToFileURL(file).href,
    filename: file,
    dirname: root,
    main: false,
    found: pathToFileURL(join(root, 'other.ts')).href,
    builtin: 'node:fs',
  });
});

async function startEnvironment(root: string): Promise<RunnableDevEnvironment> {
  const server = await createServer({
    root,
    configFile: false,
    appType: 'custom',
    logLevel: 'silent',
    server: { middlewareMode: true, ws: false, watch: null },
    environments: {
      box: {
        dev: {
          createEnvironment: (name, config) => createRunnableDevEnvironment(name, config, { runner: createRunner }),
        },
      },
    },
  });
  onTestFinished(() => server.close());
  return server.environments.box as RunnableDevEnvironment;
}
