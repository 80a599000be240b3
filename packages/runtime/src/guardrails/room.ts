import { defineRoom } from '../operations/room.ts';
import type { AskModel } from './checks/whole.ts';
import { testGuardrails } from './dry-run.ts';
import { createGuardrails } from './guardrails.ts';
import type { GuardrailsOptions } from './guardrails.ts';
import {
  createGuardrail,
  deleteGuardrail,
  getGuardrail,
  listGuardrailHits,
  listGuardrails,
  orderGuardrails,
  updateGuardrail,
} from './operations.ts';

/** What it is made of. */
export interface Given extends Omit<GuardrailsOptions, 'askModel'> {
  askModel: AskModel;
}

export const guardrailsRoom = defineRoom({
  name: 'guardrails',
  operations: [
    listGuardrails,
    listGuardrailHits,
    testGuardrails,
    getGuardrail,
    createGuardrail,
    updateGuardrail,
    orderGuardrails,
    deleteGuardrail,
  ],
  create: ({ db, kv, log, isBlank, askModel, journal, judgeRecorded }: Given) =>
    createGuardrails({ db, kv, log, isBlank, askModel, journal, judgeRecorded }),
  close: (guardrails) => guardrails.close(),
});
