import { usageError } from '../errors.ts';
import type { OperationForm } from './form.ts';
import { LIMIT_FLAGS, readLimits } from './limit-flags.ts';
import type { Row } from './row.ts';

/** What `svc catalog update` takes. */
export const CHANGED_ENTRY: OperationForm = {
  replaces: ['limits'],
  flags: {
    ...LIMIT_FLAGS,
    'limits-of-code': { type: 'boolean', description: 'Takes the limits chosen here away: those of its code hold.' },
  },
  read: readChange,
};

// --- internal ---

/** Limits that are given stand in place of all it had, those of its code, too. */
async function readChange(args: Record<string, unknown>): Promise<Row> {
  const limits = readLimits(args, '');
  const ofCode = args['limits-of-code'] === true;
  if (limits && ofCode) throw usageError('--limits-of-code does not go with limits.', 'Give one or the other.');
  return limits ? { limits } : ofCode ? { limits: null } : {};
}
