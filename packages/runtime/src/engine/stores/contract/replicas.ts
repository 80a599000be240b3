import { describe, expect, test } from 'vitest';
import { ids, start } from './world.ts';
import type { World } from './world.ts';
import { newRun } from './records.ts';

export function describeReplicas(world: World): void {
  describe('replicas', () => {
    test('know the code of the others that live, until they leave or their lease is over', async () => {
      const { replicas } = world.journal;
      await replicas.announce({ owner: 'a', leaseMs: 30_000, codes: ['1', '2'] });
      await replicas.announce({ owner: 'b', leaseMs: 30_000, codes: ['2', '3'] });
      await replicas.announce({ owner: 'c', leaseMs: 0, codes: ['4'] });
      expect((await replicas.listCodesOfOthers('a')).toSorted()).toStrictEqual(['2', '3']);
      expect((await replicas.listCodesOfOthers('x')).toSorted()).toStrictEqual(['1', '2', '3']);
      await replicas.announce({ owner: 'b', leaseMs: 30_000, codes: ['5'] });
      expect(await replicas.listCodesOfOthers('a')).toStrictEqual(['5']);
      await replicas.leave('b');
      expect(await replicas.listCodesOfOthers('a')).toStrictEqual([]);
    });

    test('claim leaves out runs of the code that is named', async () => {
      const { journal } = world;
      const [mine, theirs, none] = await Promise.all(
        ['mine', 'theirs', null].map((codeHash) => start(journal, newRun({ claim: null, codeHash }))),
      );
      const lost = await start(journal, newRun({ claim: { owner: 'a', leaseMs: 0 }, codeHash: 'theirs' }));
      const claim = { owner: 'b', leaseMs: 30_000, limit: 9 };
      const taken = ids(await journal.claim({ ...claim, notCodes: ['theirs', 'others'] }));
      expect(taken.toSorted()).toStrictEqual(ids([mine, none] as never).toSorted());
      expect(ids(await journal.claim(claim)).toSorted()).toStrictEqual(ids([lost, theirs] as never).toSorted());
    });
  });
}
