import { BoxError } from '../errors.ts';
import { COPILOT_AGENT } from '../manifest.ts';
import { toPoll } from './poll-settings.ts';
import type { Poll } from './poll-settings.ts';
import { SCHEMES } from './schemes.ts';
import type { Signature } from './signature.ts';
import type { Changeable } from './trigger-rows.ts';
import type { StoredTrigger, TriggerMapping, TriggerSettings, TriggerTarget } from './store.ts';
import { explainPath, listPaths, MOST_PLACES } from './template.ts';

/** What an operator says of a trigger. A null takes back what was said. */
export interface GivenTrigger {
  name?: string | undefined;
  target?: TriggerTarget | undefined;
  enabled?: boolean | undefined;
  signature?: Signature | undefined;
  poll?: Poll | undefined;
  event?: string | null | undefined;
  events?: string[] | null | undefined;
  where?: TriggerSettings['where'] | undefined;
  deduplicate?: string | null | undefined;
  mapping?: TriggerMapping | null | undefined;
}

/** The trigger as it is with that. Throws `trigger_invalid`. */
export function withGiven(
  before: Pick<StoredTrigger, Changeable>,
  given: GivenTrigger,
): Pick<StoredTrigger, Changeable> {
  const { name = before.name, target = before.target, enabled = before.enabled } = given;
  const settings: TriggerSettings = { ...before.settings };
  checkKind(settings, given);
  for (const key of ['signature', 'event', 'events', 'where', 'deduplicate', 'mapping'] as const)
    if (given[key] !== undefined) Object.assign(settings, { [key]: given[key] });
  checkTarget(target, settings.mapping);
  if (settings.signature) checkSignature(settings.signature);
  if (given.poll) settings.poll = toPoll(given.poll);
  checkMapping(settings.mapping);
  for (const [member, path] of [
    ['event', settings.event],
    ['deduplicate', settings.deduplicate],
    ...Object.keys(settings.where ?? {}).map((each) => ['where', each] as const),
  ] as const)
    requirePath(member, path);
  return { name, target, enabled, settings };
}

/** Throws `trigger_invalid` for a secret that its scheme can make nothing of. */
export function checkSecret(signature: Signature | null, secret: string | undefined): void {
  if (secret === undefined) return;
  if (!signature)
    throw invalid('A poll has no secret: what it is asked with is the credential of a connection.', 'secret');
  const { scheme } = signature;
  const key = secret.replace(/^whsec_/, '');
  if (scheme === 'standard-webhooks' && !/^[A-Za-z0-9+/]{16,}={0,2}$/.test(key))
    throw invalid('The secret of standard-webhooks is "whsec_" and base64, as the sender shows it.', 'secret');
}

/** Places that one trigger looks at. */
export const MOST_WHERE = 20;

// --- internal ---

const MOST_MAPPING = 50_000;

function checkTarget(target: TriggerTarget, mapping: TriggerMapping | null): void {
  const isWorkflow = 'workflow' in target;
  if (!isWorkflow && target.agent === COPILOT_AGENT)
    throw invalid('The copilot talks to people: no trigger starts it.', 'target');
  const wrong = isWorkflow
    ? ['message', 'session'].find((name) => mapping?.[name as 'message' | 'session'] !== undefined)
    : mapping?.input === undefined
      ? undefined
      : 'input';
  if (wrong !== undefined)
    throw invalid(
      `"${wrong}" of the mapping is not for ${isWorkflow ? 'a workflow, which gets "input"' : 'an agent, which gets "message" and "session"'}.`,
      'mapping',
    );
}

/** What it is stays what it is: a poll has no sender to know, and what is called asks for nothing. */
function checkKind(before: Pick<TriggerSettings, 'signature' | 'poll'>, { signature, poll }: GivenTrigger): void {
  const isPoll = before.poll !== null || (before.signature === null && poll !== undefined);
  if (isPoll && signature !== undefined)
    throw invalid(
      'A poll has no "signature": no service calls it. Make a trigger of its own for what calls.',
      'signature',
    );
  if (!isPoll && poll !== undefined)
    throw invalid('What is called has no "poll". Make a trigger of its own that has one, and no "signature".', 'poll');
  if (!isPoll && before.signature === null && signature === undefined)
    throw invalid('A trigger has a "signature", for what calls it, or a "poll", for what it asks for.', 'signature');
}

function checkSignature(signature: Signature): void {
  const { needs = [], may = [] } = SCHEMES[signature.scheme];
  const missing = needs.find((name) => signature[name] === undefined);
  if (missing !== undefined) throw invalid(`The scheme "${signature.scheme}" needs "${missing}".`, 'signature');
  const members = ['scheme', ...needs, ...may];
  const wrong = Object.keys(signature).find((name) => !members.includes(name));
  if (wrong === undefined) return;
  throw invalid(`The scheme "${signature.scheme}" has no "${wrong}". It has: ${members.join(', ')}.`, 'signature');
}

function checkMapping(mapping: TriggerMapping | null): void {
  if (!mapping) return;
  if (JSON.stringify(mapping).length > MOST_MAPPING)
    throw invalid(`The mapping has more than ${MOST_MAPPING} characters.`, 'mapping');
  const paths = listPaths(mapping);
  if (paths.length > MOST_PLACES) throw invalid(`The mapping names more than ${MOST_PLACES} places.`, 'mapping');
  for (const path of paths) requirePath('mapping', path);
}

function requirePath(member: string, path: string | null): void {
  const problem = path === null ? undefined : explainPath(path);
  if (problem !== undefined) throw invalid(`In "${member}": ${problem}.`, member);
}

function invalid(message: string, param: string): BoxError {
  return new BoxError('trigger_invalid', message, { details: { param } });
}
