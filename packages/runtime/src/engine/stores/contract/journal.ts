import { afterEach, beforeEach, describe } from 'vitest';
import type { Journal } from '../../journal.ts';
import type { JournalPlace } from './place.ts';
import { describeAppend, describePatch } from './append.ts';
import { describeCancel, describeKeeping } from './cancel.ts';
import { describeClaim, describeSuspects, describeTakeover } from './claim.ts';
import { describeCreate } from './create.ts';
import { describeHooks, describeResume } from './hooks.ts';
import { describeKeys } from './keys.ts';
import { describeLeases, describeReading, describeValues } from './reading.ts';
import { describeCode } from './code.ts';
import { describeEarly } from './early.ts';
import { describeEntries } from './entries.ts';
import { describeLists } from './lists.ts';
import { describeLook } from './look.ts';
import { describeOwnIds } from './own-ids.ts';
import { describeMoves } from './moves.ts';
import { describeNotices } from './notices.ts';
import { describePlaces } from './places.ts';
import { describeMadeSchedules, describeSchedules } from './schedules.ts';
import { describeReplicas } from './replicas.ts';
import { describeSerial } from './serial.ts';
import { describeSignals } from './signals.ts';
import { describeStreams } from './streams.ts';
import { describeTiming } from './timing.ts';
import { describeUpgrade } from './upgrade.ts';
import { describeWatching } from './watching.ts';
import type { World } from './world.ts';

/** What every adapter of `Journal` promises. `version`: of the schema it works on. */
export function describeJournal(name: string, version: number, createPlace: () => Promise<JournalPlace>): void {
  describe(`${name}`, () => {
    const opened: Journal[] = [];
    let place: JournalPlace;
    let journal: Journal;

    const open = async (): Promise<Journal> => {
      const another = await place.open();
      opened.push(another);
      return another;
    };

    beforeEach(async () => {
      place = await createPlace();
      journal = await open();
    });

    afterEach(async () => {
      await Promise.all(opened.splice(0).map((each) => each.close()));
      await place.remove();
    });

    const world: World = {
      open,
      change: (statement) => place.change(statement),
      count: (table) => place.count(table),
      ageKeys: (ms) => place.change((prefix) => `update ${prefix}idempotency_keys set created_at = created_at - ${ms}`),
      ageResumes: (ms) => place.change((prefix) => `update ${prefix}hook_events set at = at - ${ms}`),
      get journal() {
        return journal;
      },
    };
    describeCreate(world);
    describeKeys(world);
    describeAppend(world);
    describePatch(world);
    describeClaim(world);
    describeTakeover(world);
    describeSuspects(world);
    describeLeases(world);
    describeReading(world);
    describeValues(world);
    describeSignals(world);
    describeHooks(world);
    describeResume(world);
    describeSerial(world);
    describePlaces(world);
    describeTiming(world);
    describeOwnIds(world);
    describeCancel(world);
    describeKeeping(world);
    describeStreams(world);
    describeSchedules(world);
    describeMadeSchedules(world);
    describeEntries(world);
    describeLists(world);
    describeLook(world);
    describeWatching(world);
    describeReplicas(world);
    describeNotices(world);
    describeCode(world);
    describeMoves(world);
    describeEarly(world);
  });
  describeUpgrade(name, version, createPlace);
}
