import { createSecretKey, randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { describeWhen, realServers } from '../../test/require.ts';
import { createDatabase } from '../engine/stores/_clients.ts';
import { openDatabase } from '../stores/database.ts';
import { ensureInstallation } from '../stores/installation.ts';
import { openPg } from '../stores/pg.ts';
import type { GivenIdentity } from './environment.ts';
import { resolveIdentity } from './identity.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;
const key = { key: createSecretKey(randomBytes(32)), kid: 'kid' };

describeWhen(realServers.database, 'the identity of a deployed box', (server) => {
  const made: { drop(): Promise<void> }[] = [];
  let url: string;
  beforeEach(async () => {
    const database = await createDatabase(server);
    made.push(database);
    ({ url } = database);
  });
  afterAll(() => Promise.all(made.map((database) => database.drop())));

  function open() {
    const database = openDatabase(openPg(url));
    onTestFinished(() => database.close());
    return database;
  }

  async function bootWith(given: GivenIdentity, slug = 'slug') {
    const database = open();
    const warnings: string[] = [];
    const { identity } = await resolveIdentity({
      database,
      key,
      given,
      slug,
      warn: (text) => void warnings.push(text),
    });
    return { ...identity, warnings };
  }

  const [id, other] = [randomUUID(), randomUUID()];
  const first = { installationId: id, hmacSecret: 'first' };

  it('is made at the first boot and the same at every other', async () => {
    const one = await bootWith({});
    expect(one).toMatchObject({
      installationId: expect.stringMatching(UUID),
      workspaceId: expect.stringMatching(UUID),
    });
    expect(one).toMatchObject({ hmacSecret: expect.stringMatching(/^[0-9a-f]{64}$/), agentId: 'slug', warnings: [] });
    // A slug that changes moves no keys.
    expect(await bootWith({}, 'renamed')).toEqual(one);
  });

  it('is one for ten boots at once', async () => {
    const all = await Promise.all(Array.from({ length: 10 }, () => bootWith({})));
    expect(new Set(all.map((identity) => JSON.stringify(identity))).size).toBe(1);
  });

  const SET = 'SVC_INSTALLATION_ID';
  // What the first boot is given, what the second is, what comes of it (undefined: what the first had) and which
  // variables are warned of.
  it.each<[string, GivenIdentity, GivenIdentity, { installationId?: string; hmacSecret?: string }, string[]]>([
    ['nothing, then nothing', {}, {}, {}, []],
    [
      'nothing, then both',
      {},
      { installationId: other, hmacSecret: 'b' },
      { installationId: other, hmacSecret: 'b' },
      [],
    ],
    ['nothing, then another id', {}, { installationId: other }, { installationId: other }, [SET]],
    ['nothing, then another secret', {}, { hmacSecret: 'b' }, { hmacSecret: 'b' }, ['HMAC_SECRET']],
    ['an id, then nothing', { installationId: id }, {}, { installationId: id }, []],
    ['an id, then the same', { installationId: id }, { installationId: id }, { installationId: id }, []],
    ['an id, then another', { installationId: id }, { installationId: other }, { installationId: other }, [SET]],
    ['a secret, then nothing', { hmacSecret: 'a' }, {}, { hmacSecret: 'a' }, []],
    ['a secret, then the same', { hmacSecret: 'a' }, { hmacSecret: 'a' }, { hmacSecret: 'a' }, []],
    ['a secret, then another', { hmacSecret: 'a' }, { hmacSecret: 'b' }, { hmacSecret: 'b' }, ['HMAC_SECRET']],
    [
      'both, then both others',
      first,
      { installationId: other, hmacSecret: 'b' },
      { installationId: other, hmacSecret: 'b' },
      [],
    ],
    ['both, then the id', first, { installationId: id }, { installationId: id, hmacSecret: expect.any(String) }, []],
    ['both, then the secret', first, { hmacSecret: 'first' }, { installationId: id, hmacSecret: 'first' }, []],
  ])('follows from %s', async (_, one, two, expected, warned) => {
    const before = await bootWith(one);
    expect(before).toMatchObject({ ...pick(one), warnings: [] });
    const after = await bootWith(two);
    const { installationId, hmacSecret } = before;
    expect(after).toMatchObject({ installationId, hmacSecret, ...expected });
    expect(after.warnings.map((text) => text.split(' ')[0])).toEqual(warned);
    // What is made once stays, whatever was given in between.
    expect(await bootWith(one)).toMatchObject({ ...pick(one), workspaceId: before.workspaceId });
  });

  it('does not look at what is kept when both are given: not even where it cannot be opened', async () => {
    await bootWith({});
    const database = open();
    await database.ready;
    const spoilt = { wrappedKey: 'AAAA', iv: 'AAAA', tag: 'AAAA', data: 'AAAA' };
    const text = `update svc.secrets set sealed = sealed || $1::jsonb where name = 'hmac-secret' returning name`;
    expect(await database.client.query(text, [JSON.stringify(spoilt)])).toHaveLength(1);
    expect(await bootWith({ installationId: other, hmacSecret: 'b' })).toMatchObject({
      installationId: other,
      hmacSecret: 'b',
      warnings: [],
    });
    await expect(bootWith({ installationId: other })).rejects.toBeInstanceOf(Error);
  });

  it('keeps the stored half when both are given', async () => {
    const before = await bootWith({});
    await bootWith({ installationId: other, hmacSecret: 'b' });
    expect(await bootWith({})).toEqual(before);
  });

  it('takes AGENT_ID and WORKSPACE_ID from the environment and keeps what it made itself', async () => {
    const given = await bootWith({ agentId: 'given', workspaceId: 'w' });
    expect(given).toMatchObject({ agentId: 'given', workspaceId: 'w' });
    const own = await bootWith({ agentId: 'given' });
    expect(own).toMatchObject({ agentId: 'given', workspaceId: expect.stringMatching(UUID) });
    expect(await bootWith({})).toMatchObject({ agentId: 'slug', workspaceId: own.workspaceId });
  });

  it('is refused with another secret key than before, and nothing is changed', async () => {
    const before = await bootWith({});
    const wrong = { key: createSecretKey(randomBytes(32)), kid: 'another' };
    const database = open();
    await expect(resolveIdentity({ database, key: wrong, given: {}, slug: 'slug', warn() {} })).rejects.toMatchObject({
      code: 'secret_key_wrong',
    });
    expect(await bootWith({})).toEqual(before);
    expect((await ensureInstallation(database.db)).id).toBe(before.installationId);
  });
});

/** What is given, without what is left open. */
function pick(given: GivenIdentity): GivenIdentity {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
