import type { Operation } from '../operations/define.ts';
import { ROOMS } from './rooms.ts';

/** Every action of the box. Each surface walks this list. */
export const OPERATIONS: readonly Operation[] = ROOMS.flatMap(({ operations }): readonly Operation[] => operations);

/** What each takes and answers, by id. */
export type OperationTypes = {
  [Op in (typeof ROOMS)[number]['operations'][number] as Op['id']]: NonNullable<Op['~types']>;
};
