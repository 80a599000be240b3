import { defineRoom } from '../operations/room.ts';
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
  create: ({ db, kv, log, isBlank }: GuardrailsOptions) => createGuardrails({ db, kv, log, isBlank }),
  close: (guardrails) => guardrails.close(),
});
