import { randomBytes } from 'node:crypto';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { contractPayload } from '@svc/runtime/host';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createApiKeys } from '../../../runtime/src/keys/api-keys.ts';
import { createUserSecrets } from '../../../runtime/src/keys/user-secrets.ts';
import { newMasterKey } from '../../../runtime/src/secrets/master-key.ts';
import { createDatabase } from '../../../runtime/src/engine/stores/_clients.ts';
import { startObjectServer } from '@svc/dev-s3';
import { openDatabase } from '../../../runtime/src/stores/database.ts';
import { openPg } from '../../../runtime/src/stores/pg.ts';
import { bothServers } from '../../../runtime/test/_cluster.ts';
import { describeWhen } from '../../../runtime/test/require.ts';
import { writeBaseContext } from '../../../../scripts/_base-context.mjs';
import { NODE_VERSIONS, nodeBinary } from '../../../../scripts/node-matrix.mjs';
import { interpolate, parseComposition } from '../_compose.ts';
import { REPOSITORY } from '../_docs.ts';
import { loadArchive, makeArchive, packFolder, unpackImage } from '../_image.ts';
import { eventually, startSvc, useRig } from './_setup.ts';
import type { Box, Command, Workspace } from './_setup.ts';

/** Fetching a Node takes a while, the first time. */
const SLOW_MS = 300_000;
const [, IMAGE_NODE = ''] = NODE_VERSIONS;

const rig = useRig();

/**
 * What `--base-archive` writes, taken apart as a container runtime does and run as processes: with the files, the entry
 * and the environment of the container, and without its walls.
 */
describeWhen(bothServers, 'a packaged box', (servers) => {
  let workspace: Workspace;
  let rootfs: string;
  let environment: Record<string, string>;
  let drop: () => Promise<void>;

  beforeAll(async () => {
    workspace = await rig.workspace();
    const folder = workspace.path('base');
    writeBaseContext(folder);
    mkdirSync(join(folder, 'root/opt'), { recursive: true });
    renameSync(join(folder, 'svc'), join(folder, 'root/opt/svc'));
    const tags = [`svc-runtime:${contractPayload().build.version}`];
    await makeArchive(workspace.path('base.tar'), [{ tags, layers: [packFolder(join(folder, 'root'))] }]);
    const { code, stderr } = await workspace.svc('package', '--base-archive', 'base.tar');
    if (code !== 0) throw new Error(stderr);

    rootfs = mkdtempSync(join(tmpdir(), 'svc-rootfs-'));
    const [image] = await loadArchive(workspace.path('dist/deploy/agent-image.tar'));
    if (image) unpackImage(image, rootfs);

    const text = interpolate(workspace.read('dist/deploy/docker-compose.yml'), {
      ...readEnv(workspace.read('dist/deploy/.env')),
      MODEL_PROVIDER_BASE_URL: rig.model().url,
      AGENT_ID: `test-${randomBytes(6).toString('hex')}`,
    });
    const database = await createDatabase(servers.database);
    drop = () => database.drop();
    environment = {
      ...parseComposition(text).services['agent']?.environment,
      DATABASE_URL: database.url,
      WORKFLOW_KV_URL: servers.kv,
      PORT: String(workspace.ports.api),
    };
  }, SLOW_MS);

  afterAll(async () => {
    if (rootfs) rmSync(rootfs, { recursive: true, force: true });
    await drop?.();
  });

  async function boot(): Promise<Box> {
    const bin = join(rootfs, 'opt/svc/boot.mjs');
    const options = { bin, env: environment, node: await nodeBinary(IMAGE_NODE) };
    const command = workspace.command([join(rootfs, 'workspace')], options);
    await untilServing(command);
    return workspace.talkTo(command, { port: workspace.ports.api, key: await makeKey(environment) });
  }

  it(
    `chats and runs a workflow on Node ${IMAGE_NODE}, and has its data after a restart`,
    async () => {
      const first = await boot();
      expect(await first.chat('echo', 'tool:answer {}')).toContain('agent-1 word-1');
      const { runId } = await first.start('greet', { name: 'Ada' });
      expect((await first.finish(runId)).output).toBe('workflow-1 hello-1 Ada');
      expect(await first.stop('SIGTERM')).toMatchObject({ code: 0, signal: null });
      const second = await boot();
      expect(await second.finish(runId)).toMatchObject({ status: 'completed', output: 'workflow-1 hello-1 Ada' });
      expect(await checkHealth(environment)).toMatchObject({ code: 0 });
      expect(await second.stop('SIGTERM')).toMatchObject({ code: 0, signal: null });
      expect(await checkHealth(environment)).toMatchObject({ code: 1, stderr: expect.stringContaining('is not live') });
    },
    SLOW_MS,
  );

  it('ends with 1 and names the secret key that .env lacks', async () => {
    const bin = join(rootfs, 'opt/svc/boot.mjs');
    const { code, stderr } = await workspace.command([], { bin, env: { ...environment, SVC_SECRET_KEY: '' } }).ended;
    expect(code).toBe(1);
    expect(stderr).toContain('SVC_SECRET_KEY is missing.');
  });
});

describe('what the base image is built from', () => {
  it('holds what a box loads, and neither tests nor sources nor pages that only a person opens', () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-base-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeBaseContext(folder);
    const packages = 'svc/runtime/node_modules/.pnpm/';
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => file.split(sep).join('/'));
    const left = files.filter(
      (file) =>
        file.startsWith(packages) &&
        (/\.[cm]?ts$|\.map$/.test(file) || /node_modules\/(?:@[^/]+\/)?[^/]+\/(?:tests?|\.github|\.yarn)\//.test(file)),
    );
    expect(left).toEqual([]);
    expect(files.filter((file) => file.includes('playwright-core/lib/vite'))).toEqual([]);
    expect(files.some((file) => file.endsWith('playwright-core/lib/coreBundle.js'))).toBe(true);
    // A package is linked to by those that need it, and is there once.
    const bytes = [...new Set(files.map((file) => realpathSync(join(folder, file))))]
      .map((path) => lstatSync(path))
      .reduce((sum, entry) => sum + (entry.isFile() ? entry.size : 0), 0);
    expect(bytes).toBeLessThan(60_000_000);
  });
});

describe('the bucket maker', () => {
  const keys = { accessKey: 'svc', secretKey: 'a secret of some length' };

  async function startStore() {
    const dir = mkdtempSync(join(tmpdir(), 'svc-bucket-'));
    const server = await startObjectServer({ dir, port: 0, ...keys, buckets: [] });
    onTestFinished(async () => {
      await server.close();
      rmSync(dir, { recursive: true, force: true });
    });
    return server.url;
  }

  function make(url: string, secretKey = keys.secretKey) {
    const env = {
      SVC_S3_ENDPOINT: url,
      SVC_S3_ACCESS_KEY: keys.accessKey,
      SVC_S3_SECRET_KEY: secretKey,
      SVC_S3_BUCKET: 'shop',
    };
    return startSvc(['2000'], { cwd: tmpdir(), bin: dockerFile('make-bucket.mjs'), env }).ended;
  }

  it('makes the bucket once, and ends with 0 each time', async () => {
    const url = await startStore();
    expect(await make(url)).toMatchObject({ code: 0, stderr: 'The bucket "shop" is made.\n' });
    expect(await make(url)).toMatchObject({ code: 0, stderr: 'The bucket "shop" is there.\n' });
  });

  it('ends with 1 and the reason when the store refuses it, or is not there', async () => {
    const refused = await make(await startStore(), 'another secret key');
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('answers 403. Check SVC_S3_ACCESS_KEY') });
    const away = await make('http://127.0.0.1:9');
    expect(away).toMatchObject({ code: 1, stderr: expect.stringContaining('does not answer') });
  });
});

describe('the base image', () => {
  it('is what the folder counts on', () => {
    const text = readFileSync(dockerFile('Dockerfile'), 'utf8');
    for (const line of [
      'ENTRYPOINT ["node", "/opt/svc/boot.mjs"]',
      'WORKDIR /workspace',
      'USER 65532:65532',
      'ENV NODE_ENV=production PORT=8080',
      'EXPOSE 8080',
      'STOPSIGNAL SIGTERM',
      'LABEL svc.contract=${CONTRACT}',
    ])
      expect(text.split('\n')).toContain(line);
    expect(text).toMatch(/^HEALTHCHECK .*CMD \["node", "\/opt\/svc\/healthcheck\.mjs"\]$/m);
    expect(text).toContain(`node:${IMAGE_NODE}-`);
    expect(text).not.toMatch(/^RUN /m);
  });
});

// --- internal ---

function dockerFile(name: string): string {
  return join(REPOSITORY, 'docker', name);
}

function checkHealth({ PORT = '' }: Record<string, string>) {
  return startSvc([], { cwd: tmpdir(), bin: dockerFile('healthcheck.mjs'), env: { PORT } }).ended;
}

function readEnv(text: string): Record<string, string> {
  return Object.fromEntries(
    Array.from(text.matchAll(/^([A-Z0-9_]+)=(.*)$/gm), ([, key = '', value = '']) => [key, value]),
  );
}

async function untilServing(command: Command): Promise<void> {
  const over = command.ended.then(({ code, stderr }) => {
    throw new Error(`The box ended with ${code} before it served.\n${stderr}`);
  });
  await Promise.race([eventually(() => command.stderr().includes('The box serves.'), { within: 60_000 }), over]);
}

async function makeKey(env: Record<string, string>): Promise<string> {
  const database = openDatabase(openPg(env['DATABASE_URL'] ?? ''));
  const grants = { agents: 'all', workflows: 'all' } as const;
  const { value } = await createApiKeys({
    db: database.db,
    userSecrets: createUserSecrets({ db: database.db, key: newMasterKey() }),
  }).create({
    name: 'test',
    client: 'test',
    grants,
    expiresAt: null,
    createdBy: 'test',
  });
  await database.close();
  return value;
}
