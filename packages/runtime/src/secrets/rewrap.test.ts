import { randomBytes } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { describeWhen, realServers } from '../../test/require.ts';
import { resolveIdentity } from '../boot/identity.ts';
import { createDatabase } from '../engine/stores/_clients.ts';
import { openDatabase } from '../stores/database.ts';
import { openPg } from '../stores/pg.ts';
import { secrets as table } from './table.ts';
import { loadMasterKey, newMasterKey } from './master-key.ts';
import type { MasterKey } from './seal.ts';
import { createSecrets } from './secrets.ts';

describeWhen(realServers.database, 'a change of the master key', (server) => {
  async function openBox() {
    const made = await createDatabase(server);
    const database = openDatabase(openPg(made.url));
    onTestFinished(async () => {
      await database.close();
      await made.drop();
    });
    const boot = async (key: MasterKey, previousKey?: MasterKey) => {
      const warnings: string[] = [];
      const warn = (text: string) => void warnings.push(text);
      const { identity, secrets } = await resolveIdentity({ database, key, previousKey, given: {}, slug: 's', warn });
      const installation = async () => identity.installationId;
      return { identity, secrets, warnings, workspace: createSecrets({ db: database.db, key, installation }) };
    };
    return { boot, database };
  }
  const [old, current, other] = [newMasterKey(), newMasterKey(), newMasterKey()];

  it('rewraps every stored value and changes none', async () => {
    const { boot, database } = await openBox();
    const before = await boot(old);
    await before.workspace.create('ONE', 'planted', 'me');
    await before.secrets.set('provider', 'key');
    const data = async () => (await database.db.select().from(table)).map(({ sealed }) => sealed.data).toSorted();
    const values = await data();
    const after = await boot(current, old);
    expect(after.identity).toEqual(before.identity);
    expect([await after.workspace.read('ONE'), await after.secrets.get('provider')]).toEqual(['planted', 'key']);
    expect(await data()).toEqual(values);
    expect((await database.db.select().from(table)).map(({ sealed }) => sealed.kid)).toEqual(
      values.map(() => current.kid),
    );
    await expect(before.workspace.read('ONE')).rejects.toMatchObject({ code: 'secret_key_wrong' });
    await expect(boot(old)).rejects.toMatchObject({ code: 'secret_key_wrong' });
    expect((await boot(current)).warnings).toEqual([]);
  });

  it('is done once by boots at once, and the variable is warned of when it is of no use', async () => {
    const { boot } = await openBox();
    await (await boot(old)).workspace.create('ONE', 'planted', 'me');
    const all = await Promise.all(Array.from({ length: 5 }, () => boot(current, old)));
    expect(await Promise.all(all.map(({ workspace }) => workspace.read('ONE')))).toEqual(all.map(() => 'planted'));
    expect((await boot(current, old)).warnings).toEqual([expect.stringContaining('SVC_SECRET_KEY_PREVIOUS is set')]);
  });

  it('takes what a replica has written under the old key meanwhile', async () => {
    const { boot } = await openBox();
    const late = await boot(old);
    await boot(current, old);
    await late.workspace.create('LATE', 'planted', 'me');
    expect(await (await boot(current, old)).workspace.read('LATE')).toBe('planted');
  });

  it('is refused whole when one value does not open, and when neither key fits', async () => {
    const { boot, database } = await openBox();
    const { workspace } = await boot(old);
    await workspace.create('ONE', 'planted', 'me');
    await expect(boot(other, current)).rejects.toThrow(/Neither SVC_SECRET_KEY .* nor SVC_SECRET_KEY_PREVIOUS/);
    await database.client.exec(`update svc.secrets set version = 9 where name = 'ONE'`);
    await expect(boot(current, old)).rejects.toMatchObject({ code: 'secret_unreadable' });
    await database.client.exec(`update svc.secrets set version = 1 where name = 'ONE'`);
    expect(await (await boot(old)).workspace.read('ONE')).toBe('planted');
  });

  it('names the variable that is no key', async () => {
    const load = loadMasterKey({
      value: randomBytes(5).toString('base64'),
      file: undefined,
      variable: 'SVC_SECRET_KEY_PREVIOUS',
    });
    await expect(load).rejects.toThrow(/^SVC_SECRET_KEY_PREVIOUS is not 32 bytes/);
  });
});
