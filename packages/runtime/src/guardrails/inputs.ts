import { z } from 'zod';
import { StorableText } from '../operations/inputs.ts';
import { findsPlaces, toHow } from './rules.ts';
import { Action, Attachment, Check, Side } from './store.ts';
import type { Guardrail } from './store.ts';

/** What the operations of the room share. Who may read rules reads what they look for. */
export const ROOM = { tag: 'guardrails', copilot: 'yes' } as const;

const Name = StorableText.trim().min(1).max(100).describe('The name that answers give it; no other rule has it');

const Note = StorableText.max(2_000).nullable();

const Sides = z
  .array(Side)
  .min(1)
  .max(5)
  .refine((sides) => new Set(sides).size === sides.length, { error: 'Name each side once' })
  .describe('Where it judges');

/** With what is wrong with it said of it. */
export const UsableCheck = Check.superRefine((check, context) => {
  if (JSON.stringify(check).length > MOST_CHARACTERS)
    return context.addIssue({ code: 'custom', message: `A check takes ${MOST_CHARACTERS} characters at most` });
  if (JSON.stringify(check).includes('\\u0000'))
    return context.addIssue({ code: 'custom', message: 'It must not hold the character U+0000' });
  if (check.kind === 'length' && check.max === undefined && check.min === undefined)
    return context.addIssue({ code: 'custom', message: 'Say "max", "min" or both' });
  try {
    toHow(check);
  } catch (error) {
    const path = [check.kind === 'schema' ? 'schema' : 'pattern'];
    context.addIssue({ code: 'custom', path, message: (error as Error).message });
  }
}).describe('What is a hit');

const UsableAttachment = Attachment.refine(({ kind, name }) => kind !== 'workspace' || name === '', {
  path: ['name'],
  error: 'A rule of the workspace names no agent or workflow',
});

/** The members of a rule. */
export const MEMBERS = {
  name: Name,
  note: Note,
  check: UsableCheck,
  sides: Sides,
  action: Action,
  attachment: UsableAttachment,
  enabled: z.boolean().describe('False: it is not asked'),
  failClosed: z.boolean().describe('A check that fails counts as a hit that blocks; false: the text passes'),
};

/** What a new rule need not say. */
export const DEFAULTS = {
  note: Note.default(null),
  attachment: UsableAttachment.default({ kind: 'workspace', name: '' }),
  enabled: MEMBERS.enabled.default(true),
  failClosed: MEMBERS.failClosed.default(true),
};

export const NewRule = z.strictObject({ ...MEMBERS, ...DEFAULTS }).superRefine((rule, context) => {
  for (const message of listClashes(rule)) context.addIssue({ code: 'custom', path: ['action'], message });
});

export const RuleChange = z.strictObject({
  id: z.string().describe('The id of the rule'),
  name: Name.optional(),
  note: Note.optional(),
  check: UsableCheck.optional(),
  sides: Sides.optional(),
  action: Action.optional(),
  attachment: UsableAttachment.optional(),
  enabled: MEMBERS.enabled.optional(),
  failClosed: MEMBERS.failClosed.optional(),
});

/** A rule that is not kept: what a dry run tries. */
export const DraftRule = z
  .strictObject({ check: UsableCheck, action: Action.default('block') })
  .superRefine((rule, context) => {
    for (const message of listClashes(rule)) context.addIssue({ code: 'custom', path: ['action'], message });
  });

/** What an action cannot be together with, of the check. */
export function listClashes({ check, action }: { check: Pick<Guardrail['check'], 'kind'>; action: Action }): string[] {
  if (action !== 'mask' || findsPlaces(check)) return [];
  return [`A check of the kind "${check.kind}" finds no place that could be masked; use "block" or "audit"`];
}

// --- internal ---

/** What is kept of one as JSON. */
const MOST_CHARACTERS = 500_000;
