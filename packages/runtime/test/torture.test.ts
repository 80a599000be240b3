import { expect, onTestFinished, test } from 'vitest';
import { findServers } from '../../../torture/_servers.mjs';
import * as deploy from '../../../torture/deploy.mjs';
import * as flushRedis from '../../../torture/flush-redis.mjs';
import * as kill from '../../../torture/kill.mjs';
import * as orchestrator from '../../../torture/orchestrator.mjs';
import * as parked from '../../../torture/parked.mjs';
import * as partition from '../../../torture/partition.mjs';
import * as pause from '../../../torture/pause.mjs';
import * as races from '../../../torture/races.mjs';
import * as restartPostgres from '../../../torture/restart-postgres.mjs';
import * as serial from '../../../torture/serial.mjs';
import * as takeover from '../../../torture/takeover.mjs';
import { pgBouncer, startPgBouncer } from './_pgbouncer.ts';
import { describeWhen, realServers } from './require.ts';

const KEPT = { problems: [] };
const LIMIT = { timeout: 180_000 };

test('runs survive a process that is killed five times', LIMIT, async () => {
  expect(await kill.run(kill.QUICK)).toMatchObject({ ...KEPT, kills: 5, runs: 10 });
});

test('no death from outside is held against a run, while the clock jumps', LIMIT, async () => {
  expect(await orchestrator.run(orchestrator.QUICK)).toMatchObject({ ...KEPT, kills: expect.any(Number) });
});

test('queued starts of a serial workflow begin in order, whatever is killed', LIMIT, async () => {
  expect(await serial.run(serial.QUICK)).toMatchObject({ ...KEPT, runs: 100, kills: 4 });
});

test('parked runs are in no process, and a boot reads none of them', LIMIT, async () => {
  const nothing = { inMemory: 0, claimed: 0, replayed: 0 };
  expect(await parked.run(parked.QUICK)).toMatchObject({ ...KEPT, ...nothing, runs: 200, resumed: 20 });
});

describeWhen(realServers.database, 'two processes on one Postgres', (url) => {
  test('finish what either of them began, however often both are killed', LIMIT, async () => {
    expect(await kill.run({ ...kill.QUICK, url })).toMatchObject({ ...KEPT, kills: 10, runs: 10 });
  });

  test(
    'what a paused process wants to record once others have its runs is refused, and its steps stop',
    LIMIT,
    async () => {
      expect(await pause.run({ ...pause.QUICK, url })).toMatchObject({ ...KEPT, fenced: 5, aborted: 5 });
    },
  );

  test('the runs of one whose network is cut go on elsewhere, and it is heard again without them', LIMIT, async () => {
    expect(await partition.run({ ...partition.QUICK, url })).toMatchObject({ ...KEPT, cuts: 3, runs: 15 });
  });

  test(
    'the runs of one that is killed go on long before its lease ends, those of a paused one do not',
    LIMIT,
    async () => {
      expect(await takeover.run({ ...takeover.QUICK, url })).toMatchObject({ ...KEPT, runs: 100 });
    },
  );

  test('queued starts of a serial workflow begin in order, whatever is killed', LIMIT, async () => {
    expect(await serial.run({ ...serial.QUICK, url })).toMatchObject({ ...KEPT, runs: 100, kills: 4 });
  });

  test('a rolling restart refuses starts with 503 and Retry-After at most, and loses none', LIMIT, async () => {
    expect(await deploy.run({ ...deploy.QUICK, url })).toMatchObject({ ...KEPT, refused: { unanswered: 0 } });
  });

  test('of fifty resumes one wins, and fifty starts with one key are one run', LIMIT, async () => {
    expect(await races.run({ ...races.QUICK, url })).toMatchObject({ ...KEPT, runs: 4 });
  });
});

// Servers that are stopped: each test starts its own, from what .ci/services.sh has unpacked.
const servers = { value: findServers(), missing: 'root and the servers of .ci/services.sh (run it)' };

describeWhen(servers, 'two processes and a server that goes away', () => {
  test('a Postgres that is cut off and comes back loses nothing', LIMIT, async () => {
    expect(await restartPostgres.run(restartPostgres.QUICK)).toMatchObject({ ...KEPT, cuts: 2 });
  });

  test('a Redis that is flushed and killed refuses nothing and loses nothing', LIMIT, async () => {
    const url = realServers.database.value;
    expect(await flushRedis.run({ ...flushRedis.QUICK, ...(url ? { url } : {}) })).toMatchObject({
      ...KEPT,
      losses: 2,
    });
  });
});

describeWhen(pgBouncer, 'two processes behind PgBouncer, a session for each transaction', (behind) => {
  test('finish what either of them began, however often both are killed', LIMIT, async () => {
    const pooler = await startPgBouncer(behind);
    onTestFinished(() => pooler.stop());
    expect(await kill.run({ ...kill.QUICK, url: pooler.url })).toMatchObject({ ...KEPT, kills: 10, runs: 10 });
  });
});
