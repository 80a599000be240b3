import { PlaneError } from './errors.ts';
import type { Ground, Rooms } from './ground.ts';

/** One box, and its operator. */
export async function createStandalone(_ground: Ground): Promise<Rooms> {
  return {
    routes: [],
    raw: [],
    authenticate: async () => undefined,
    requireOperator: async () => {
      throw new PlaneError('unauthorized', 'You are not signed in.');
    },
    close: async () => {},
  };
}
