import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findSqlite } from '../../runtime/src/engine/stores/sqlite/driver.ts';
import { ask, cookieOf, logIn, PASSWORD } from './_people.ts';
import type { Answer, Loose } from './_people.ts';
import { makeFolder, makeStore, SECRET_KEY, STORES } from './_setup.ts';

const PATHS = { bin: '../bin.mjs', dieAtWrite: './_die-at-write.mjs' };
const BO = 'bo@example.com';

/** A control plane in a process of its own, as it is deployed, which dies at a write when it is told to. */
class Victim {
  url = '';
  readonly #env: Record<string, string>;
  readonly #arm = join(makeFolder(), 'arm');
  #child: ChildProcess | undefined;

  constructor(env: Record<string, string>) {
    this.#env = env;
    onTestFinished(async () => {
      if (this.#child?.exitCode !== null || this.#child.signalCode !== null) return;
      this.#child.kill('SIGKILL');
      await once(this.#child, 'exit');
    });
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, ['--import', toUrl(PATHS.dieAtWrite).href, fileURLToPath(toUrl(PATHS.bin))], {
      env: {
        ...process.env,
        ...this.#env,
        HOST: '127.0.0.1',
        PORT: '0',
        PLANE_SECRET_KEY: SECRET_KEY,
        SVC_TEST_ARM: this.#arm,
        SVC_SQLITE_DRIVER: 'better-sqlite3',
        SVC_LOG_LEVEL: 'error',
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child = child;
    const said: string[] = [];
    for await (const line of createInterface({ input: child.stderr })) {
      said.push(line);
      const [, url] = /answers on \S+ as (\S+)/.exec(line) ?? [];
      if (!url) continue;
      this.url = url;
      child.stderr.resume();
      return;
    }
    throw new Error(`The control plane did not start: ${said.join('\n')}`);
  }

  /** Does `work` while it dies at the first write, then at the second …, until it does not. Answers how often it died. */
  async dieAtEach(work: () => Promise<Answer<Loose>>, check: () => Promise<void>): Promise<number> {
    for (let write = 1; ; write++) {
      writeFileSync(this.#arm, String(write));
      const answer = await work().catch(() => undefined);
      writeFileSync(this.#arm, '0');
      if (answer && answer.status >= 300) throw new Error(JSON.stringify(answer.body));
      if (answer) return write - 1;
      if (this.#child?.signalCode === null) await once(this.#child, 'exit');
      await this.start();
      await check();
    }
  }
}

/** The driver whose statements can be counted; the others are as synchronous. */
const { opener } = await findSqlite('better-sqlite3');

describe.skipIf(!opener || !existsSync(toUrl('../dist/index.mjs')))('a control plane that dies at any write', () => {
  test.each(STORES)('leaves nothing half done on %s', async (store) => {
    const plane = new Victim(await makeStore(store));
    await plane.start();

    const person = { email: 'ada@example.com', password: PASSWORD, name: 'Ada', organization: 'Acme' };
    const signUps = await plane.dieAtEach(
      () => ask(plane, 'POST /api/v1/auth/signup', { body: person }),
      async () => expect((await ask(plane, 'GET /api/v1/auth/methods')).body.signup).toBe('open'),
    );
    // The account, the organisation, the membership, the session, the row of the log, the commit.
    expect(signUps).toBe(6);

    const login = await logIn(plane, person.email);
    const cookie = cookieOf(login);
    // Another name was taken, had an organisation been left.
    expect(login.body.organization).toMatchObject({ slug: 'acme', role: 'owner' });
    const org = `/api/v1/orgs/${login.body.organization.id}`;
    const read = async (what: string) => (await ask(plane, `GET ${org}/${what}`, { cookie })).body.items;
    const countRows = async (action: string) =>
      (await read('audit')).filter((row: { action: string }) => row.action === action).length;
    const roleOf = async (email: string) =>
      (await read('members')).find((member: { email: string }) => member.email === email)?.role;

    const invited = { email: BO, role: 'viewer' };
    const { token } = (await ask(plane, `POST ${org}/invites`, { cookie, body: invited })).body;
    const accepts = await plane.dieAtEach(
      () =>
        ask(plane, 'POST /api/v1/auth/signup', {
          body: { email: BO, password: PASSWORD, name: 'Bo', invite: token },
        }),
      async () =>
        expect([await roleOf(BO), (await read('invites')).length, await countRows('invites.accept')]).toStrictEqual([
          undefined,
          1,
          0,
        ]),
    );
    expect(accepts).toBe(7);
    expect([await roleOf(BO), (await read('invites')).length, await countRows('invites.accept')]).toStrictEqual([
      'viewer',
      0,
      1,
    ]);

    const { userId } = (await read('members')).find((member: { email: string }) => member.email === BO);
    const changes = await plane.dieAtEach(
      () => ask(plane, `PATCH ${org}/members/${userId}`, { cookie, body: { role: 'admin' } }),
      async () => expect([await roleOf(BO), await countRows('members.update')]).toStrictEqual(['viewer', 0]),
    );
    expect(changes).toBe(3);
    expect([await roleOf(BO), await countRows('members.update')]).toStrictEqual(['admin', 1]);
  });
});

function toUrl(path: string): URL {
  return new URL(path, import.meta.url);
}
