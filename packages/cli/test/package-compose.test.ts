import { randomBytes } from 'node:crypto';
import { emitCompose, emitEnv, planDeploy, readEnvText } from '@svc/compiler';
import { describe, expect, it } from 'vitest';
import { describeWhen, realServers } from '../../runtime/test/require.ts';
import { openServerDatabase, openServerJournal } from '../../runtime/src/boot/server-stores.ts';
import { readEnvironment } from '../../runtime/src/boot/environment.ts';
import { toBucketName } from '../../runtime/src/storage/bucket-name.ts';
import { openPg } from '../../runtime/src/stores/pg.ts';
import { interpolate, listRequired, parseComposition } from './_compose.ts';
import type { Service } from './_compose.ts';

type Target = 'byoc' | 'self-host';

const REQUIRED = {
  byoc: ['HMAC_SECRET', 'OBJSTORE_ROOT_PASSWORD'],
  'self-host': ['HMAC_SECRET', 'OBJSTORE_ROOT_PASSWORD', 'STUDIO_STANDALONE_TOKEN', 'SVC_PUBLIC_URL', 'SVC_SECRET_KEY'],
} as const;
const STORES = ['db', 'kv', 'objstore', 'objstore-init', 'agent'];
const SERVICES = { byoc: STORES, 'self-host': [...STORES, 'control-plane'] } as const;
/** The attributes of a service that are used here; compose refuses one it does not know. */
const KNOWN =
  'build cap_add cap_drop command configs depends_on entrypoint environment healthcheck image logging mem_limit networks pids_limit ports pull_policy read_only restart security_opt shm_size stop_grace_period tmpfs user volumes';

const planOf = (target: Target, offline = false, slug = 'shop') =>
  planDeploy({ target, slug, bucket: toBucketName(slug), linkedSlug: slug, contract: 1, version: '1.2.3', offline });
const textOf = (target: Target, offline = false) => emitCompose(planOf(target, offline));
const valuesOf = (target: Target): Record<string, string> =>
  Object.fromEntries(readEnvText(emitEnv(planOf(target), { existing: undefined, random: randomBytes })));

describe.each(['byoc', 'self-host'] as const)('the composition of %s', (target) => {
  const composition = parseComposition(textOf(target));
  const services = Object.entries(composition.services);

  it('has its services, and of each what compose knows and what the file declares', () => {
    expect(services.map(([name]) => name)).toEqual(SERVICES[target]);
    for (const [, service] of services) {
      for (const key of Object.keys(service)) expect(KNOWN.split(' ')).toContain(key);
      for (const network of service.networks) expect(Object.keys(composition.networks)).toContain(network);
      for (const volume of service.volumes ?? [])
        expect(Object.keys(composition.volumes)).toContain(volume.split(':')[0]);
      for (const { source } of service.configs ?? []) expect(Object.keys(composition.configs)).toContain(source);
      for (const other of Object.keys(service.depends_on ?? {})) expect(SERVICES[target]).toContain(other);
    }
  });

  it('asks for the variables it cannot do without, and names each that is missing', () => {
    const text = textOf(target);
    expect(listRequired(text)).toEqual(REQUIRED[target]);
    const values: Record<string, string> = { ...valuesOf(target), SVC_PUBLIC_URL: 'https://box.example.com' };
    expect(() => interpolate(text, values)).not.toThrow();
    for (const name of REQUIRED[target])
      for (const value of [undefined, ''])
        expect(() => interpolate(text, { ...values, [name]: value ?? '' })).toThrow(
          `Set ${name} in .env, for example to ${name === 'SVC_PUBLIC_URL' ? 'https://box.example.com' : 'the output of openssl rand'}`,
        );
  });

  it('reads every variable of .env, and beside them the installation that a control plane has given', () => {
    const read = Array.from(textOf(target).matchAll(/\$\{(\w+)/g), ([, name = '']) => name);
    const given = target === 'byoc' ? ['SVC_INSTALLATION_ID'] : [];
    expect([...new Set(read)].sort()).toEqual([...Object.keys(valuesOf(target)), ...given].sort());
  });

  it('starts the box with an environment it takes', () => {
    const values: Record<string, string> = { ...valuesOf(target), SVC_PUBLIC_URL: 'https://box.example.com' };
    const { agent } = parseComposition(interpolate(textOf(target), values)).services;
    const environment = readEnvironment(agent?.environment ?? {});
    expect(environment).toMatchObject({
      port: 8080,
      orgSlug: 'default',
      publicUrl: 'https://box.example.com',
      identity: { agentId: 'shop', hmacSecret: values['HMAC_SECRET'], installationId: undefined },
      storage: { endpoint: 'http://objstore:7070', bucket: 'shop', secretKey: values['OBJSTORE_ROOT_PASSWORD'] },
    });
    expect(environment.secretKey).toBe(values['SVC_SECRET_KEY']);
  });

  it('starts the box after its stores, and once the bucket is made', () => {
    const { agent, 'objstore-init': init } = composition.services;
    expect(agent?.depends_on).toEqual({
      db: { condition: 'service_healthy' },
      kv: { condition: 'service_healthy' },
      'objstore-init': { condition: 'service_completed_successfully' },
    });
    expect(init).toMatchObject({
      image: agent?.image,
      entrypoint: ['node', '/opt/svc/make-bucket.mjs'],
      restart: 'no',
    });
    expect(init?.environment?.['SVC_S3_BUCKET']).toBe(agent?.environment?.['SVC_S3_BUCKET']);
  });

  it('lets nothing of ours do more than it has to', () => {
    const ours = services.filter(([name]) => ['objstore-init', 'agent', 'control-plane'].includes(name));
    for (const [, service] of ours)
      expect(service).toMatchObject({ user: '65532:65532', read_only: true, tmpfs: ['/tmp'] });
    for (const [, service] of ours) expect(service).not.toHaveProperty('cap_add');
    for (const [, service] of services)
      expect(service).toMatchObject({
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        pids_limit: 512,
        mem_limit: expect.stringMatching(/^\d+[mg]$/),
        stop_grace_period: expect.stringMatching(/^\d+s$/),
        logging: { options: { 'max-size': '10m', 'max-file': '3' } },
      });
  });

  it('publishes the box, and the object store to this host alone, and keeps the other stores inside', () => {
    const published = services.flatMap(([name, { ports = [] }]) => ports.map((port) => [name, port]));
    expect(published).toEqual([
      ['objstore', '127.0.0.1:${OBJSTORE_PORT:-7070}:7070'],
      ['agent', '${AGENT_PORT:-8080}:8080'],
      ...(target === 'self-host' ? [['control-plane', '${CONTROL_PLANE_PORT:-3000}:3000']] : []),
    ]);
    expect(composition.networks['data']).toEqual({ internal: true });
    for (const name of ['db', 'kv', 'objstore-init']) expect(composition.services[name]?.networks).toEqual(['data']);
    expect(composition.services['control-plane']?.networks ?? ['edge']).toEqual(['edge']);
  });

  it('names exact versions of the images of others', () => {
    for (const name of ['db', 'kv', 'objstore']) expect(composition.services[name]?.image).toMatch(/:v?\d+\.\d+\.\d+/);
  });

  it('builds the agent, or in an offline folder neither builds nor pulls what is ours', () => {
    expect(composition.services['agent']).toMatchObject({ build: { context: '.' }, pull_policy: 'build' });
    const offline = Object.entries(parseComposition(textOf(target, true)).services);
    for (const [, service] of offline) expect(service).not.toHaveProperty('build');
    const kept = offline.filter(([, service]: [string, Service]) => service['pull_policy'] === 'never');
    expect(kept.map(([name]) => name)).toEqual(SERVICES[target].slice(3));
  });
});

describeWhen(realServers.database, 'the role of the box in the composed database', (url) => {
  it('owns its database, in which the box makes its tables, and nothing else of the server', async () => {
    const { db, agent } = parseComposition(textOf('byoc')).services;
    const { source, target } = db?.configs?.[0] ?? {};
    expect([source, target, db?.environment?.['POSTGRES_USER']]).toEqual([
      'db-init',
      '/docker-entrypoint-initdb.d/svc.sql',
      'postgres',
    ]);
    const { username, password, pathname } = new URL(agent?.environment?.['DATABASE_URL'] ?? '');
    expect([username, password, pathname]).toEqual(['svc', 'svc', '/svc']);

    const [own, root] = [`composed_${process.pid}`, `composed_root_${process.pid}`];
    const script = parseComposition(textOf('byoc')).configs['db-init']?.content ?? '';
    const [onServer = '', inDatabase = ''] = script
      .replaceAll(/\bsvc\b/g, own)
      .replaceAll(/\bpostgres\b/g, root)
      .split(`\\connect ${own}\n`);
    const address = (user: string, database: string) =>
      Object.assign(new URL(url), { username: user, password: user, pathname: `/${database}` }).toString();
    const all = async (at: string, text: string) => {
      const client = openPg(at);
      // As psql does: each by itself.
      for (const one of text.split(';\n').filter((line) => line.trim() !== '')) await client.exec(one);
      await client.close();
    };
    await all(url, `create role ${root} superuser login password '${root}'`);
    try {
      await all(address(root, 'postgres'), onServer);
      await all(address(root, own), inDatabase);
      const database = openServerDatabase(address(own, own));
      await database.ready;
      await (await openServerJournal(address(own, own))).close();
      const ask = (text: string) => database.client.query(text);
      expect(await ask(RIGHTS)).toEqual([
        { rolname: own, rolsuper: false, rolcreaterole: false, rolcreatedb: false, rolreplication: false, groups: '0' },
      ]);
      for (const text of [
        "copy (select 1) to program 'true'",
        "select pg_read_file('/etc/hostname')",
        `set role ${root}`,
      ])
        await expect(ask(text)).rejects.toThrow(/permission denied/);
      await database.close();
      const asAdministrator = openPg(url);
      const kept = await asAdministrator.query('select rolpassword from pg_authid where rolname = $1', [root]);
      await asAdministrator.close();
      expect(kept).toEqual([{ rolpassword: null }]);
    } finally {
      await all(url, `drop database if exists ${own} with (force);\ndrop role if exists ${own};\ndrop role ${root}`);
    }
  });
});

const RIGHTS = `select rolname, rolsuper, rolcreaterole, rolcreatedb, rolreplication,
  (select count(*)::text from pg_auth_members where member = pg_roles.oid) as groups
  from pg_roles where rolname = current_user`;

describe('what differs', () => {
  it('byoc leaves SVC_SECRET_KEY to the check of the box, and knows no standalone token', () => {
    const { agent } = parseComposition(textOf('byoc')).services;
    expect(agent?.environment?.['SVC_SECRET_KEY']).toBe('${SVC_SECRET_KEY:-}');
    expect(textOf('byoc')).not.toContain('STUDIO_STANDALONE_TOKEN');
    const values = { ...valuesOf('byoc'), SVC_SECRET_KEY: '' };
    const { agent: started } = parseComposition(interpolate(textOf('byoc'), values)).services;
    expect(() => readEnvironment(started?.environment ?? {})).toThrow('SVC_SECRET_KEY is missing.');
  });

  it('both containers of self-host hold the same token and the same names', () => {
    const { agent, 'control-plane': plane } = parseComposition(textOf('self-host')).services;
    for (const name of ['STUDIO_STANDALONE_TOKEN', 'SVC_ORG_SLUG', 'AGENT_ID', 'SVC_PUBLIC_URL'])
      expect(plane?.environment?.[name]).toBe(agent?.environment?.[name]);
    expect(plane?.environment).toMatchObject({ PORT: '3000', SVC_RUNTIME_INTERNAL_URL: 'http://agent:8080' });
  });

  it('pins the port of the box whatever .env says', () => {
    const text = interpolate(textOf('byoc'), { ...valuesOf('byoc'), PORT: '9999' });
    expect(parseComposition(text).services['agent']?.environment?.['PORT']).toBe('8080');
  });

  it.each([
    ['a', 'a:latest', 'svc-a'],
    ['shop-', 'shop:latest', 'shop'],
    ['my--shop', 'my--shop:latest', 'my--shop'],
  ])('the slug "%s" makes the image %s and the bucket %s', (slug, imageTag, bucket) => {
    expect(planOf('byoc', false, slug)).toMatchObject({ imageTag, bucket });
  });
});
