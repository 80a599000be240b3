// @ts-check
/**
 * The store without an engine.
 * @typedef {object} Bare
 * @property {(writes: Write[]) => unknown} commit  all of it in one transaction; a run occurs once
 * @property {() => Promise<void>} close
 *
 * @typedef {object} Write
 * @property {'create' | 'step' | 'end'} type
 * @property {number} id  of the run
 * @property {number} seq
 * @property {string} payload
 */

/**
 * The least an engine can be: an async function whose steps await a commit they share with whoever else is waiting.
 * Values are JSON. It replays nothing, and has no context for the code in a run.
 * @param {Bare} bare
 * @param {() => number} nextId
 */
export function createFloor(bare, nextId) {
  const commit = createGroup(bare);
  return {
    /**
     * One run of `count` steps.
     * @param {number} count
     */
    async run(count) {
      const id = nextId();
      let next = 0;
      await commit({ type: 'create', id, seq: 0, payload: JSON.stringify({ count }) });
      const step = async (/** @type {() => Promise<number>} */ body) => {
        const seq = next++;
        const payload = JSON.stringify(await body());
        await commit({ type: 'step', id, seq, payload });
        return JSON.parse(payload);
      };
      let sum = 0;
      for (let i = 0; i < count; i++) sum = await step(async () => sum + 1);
      await commit({ type: 'end', id, seq: next, payload: JSON.stringify(sum) });
    },
  };
}

// --- internal ---

/** @param {Bare} bare */
function createGroup(bare) {
  /** @type {{ write: Write, done: () => void, failed: (error: unknown) => void }[]} */
  let waiting = [];
  let busy = false;
  const flush = async () => {
    const batch = waiting;
    waiting = [];
    busy = batch.length > 0;
    if (!busy) return;
    try {
      await bare.commit(batch.map(({ write }) => write));
      for (const { done } of batch) done();
    } catch (error) {
      for (const { failed } of batch) failed(error);
    }
    setImmediate(flush);
  };
  return (/** @type {Write} */ write) =>
    new Promise((/** @type {(value: void) => void} */ done, failed) => {
      waiting.push({ write, done, failed });
      if (!busy) setImmediate(flush);
      busy = true;
    });
}
