import { may, requirePermission } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import { currentRequest } from '../engine/context.ts';
import { BoxError } from '../errors.ts';
import { hideWebhookTokens } from '../hooks/hide-tokens.ts';
import type { Rooms } from './rooms.ts';
import { explainText, withoutUndefined } from '../operations/inputs.ts';
import { parseWith } from '../schema/schema.ts';
import type { CallContext, Operation } from '../operations/define.ts';
import { roomsSeenBy } from './seen.ts';

/**
 * The one door every surface goes through: permission, then schema, then handler; what was changed is written down. Who
 * may not decide what runs wait for gets no token of a webhook either.
 */
export async function callOperation(
  op: Operation,
  allRooms: Rooms,
  input: unknown,
  context: CallContext,
): Promise<unknown> {
  return noteRefusal(op, allRooms, { context, run: () => callNoted(op, allRooms, input, context) });
}

/** Whether the caller is let in, for who asks before the call. Throws `forbidden`, and writes that down. */
export async function checkCall(op: Operation, rooms: Rooms, context: Omit<CallContext, 'signal'>): Promise<void> {
  await noteRefusal(op, rooms, { context, run: async () => checkPermission(op, context.caller) });
}

/** Whether the role of the caller lets it in; of a key, the handler has the last word. Throws `forbidden`. */
export function checkPermission({ keys, permission }: Operation, caller: Caller): void {
  if (permission === 'none' || (keys && caller.role === null)) return;
  requirePermission(caller, permission);
}

/** The input as the handler takes it. Throws `invalid_request`. */
export async function parseInput(op: Operation, input: unknown): Promise<unknown> {
  checkTexts(op, input);
  const parsed = await parseWith(op.input, input);
  if (parsed.ok) return parsed.value;
  const [first] = parsed.issues;
  const place = first && first.path.length > 0 ? `"${first.path.join('.')}": ` : '';
  // Some of zod's messages are sentences that end by themselves.
  const message = `The request is not valid. ${place}${(first?.message ?? 'It does not match').replace(/\.$/, '')}.`;
  throw new BoxError('invalid_request', message, { details: { issues: parsed.issues } });
}

// --- internal ---

async function callNoted(op: Operation, allRooms: Rooms, input: unknown, context: CallContext): Promise<unknown> {
  checkPermission(op, context.caller);
  const rooms = roomsSeenBy(allRooms, context.caller);
  const parsed = await parseInput(op, input);
  const show = (value: unknown) => (may(context.caller, 'hitl:decide') ? value : hideWebhookTokens(value));
  if (op.kind === 'read' || op.activity === false) {
    const answer = show(await op.handle(rooms, parsed, context));
    recordSecurity(op, rooms, { parsed, context });
    return answer;
  }
  const before = await op.before?.(rooms, parsed);
  const target = readTarget(op, parsed);
  const isPrivate = PRIVATE.has(op.tag);
  // Before: what is deleted cannot be asked afterwards.
  const asker = isPrivate ? await rooms.activity.findAsker(Object.values(target)[0]) : undefined;
  const after = await op.handle(rooms, parsed, context);
  recordSecurity(op, rooms, { parsed, context, after });
  const { caller, source, requestId } = context;
  const hide = (value: unknown) => withoutMembers(value, op.secret ?? []);
  await rooms.activity.record({
    askedBy: asker ?? (isPrivate ? await rooms.activity.findAsker(runIdOf(after)) : undefined),
    operation: op.id,
    caller,
    source,
    requestId,
    target,
    before: hide(before),
    after: hide(after),
  });
  return show(after);
}

/** Over HTTP whoever answers the request writes down that it was refused. */
async function noteRefusal<T>(
  op: Operation,
  { security }: Rooms,
  { context, run }: { context: Omit<CallContext, 'signal'>; run(): Promise<T> },
): Promise<T> {
  const { caller, source } = context;
  try {
    return await run();
  } catch (error) {
    if (source !== 'http' && error instanceof BoxError && error.status === 403)
      security.refused({ code: error.code, operation: op.id, caller, ...originOf(context) });
    throw error;
  }
}

/** The request that it came with, on whatever surface. */
function originOf({ requestId }: Pick<CallContext, 'requestId'>): { requestId?: string; address?: string } {
  const request = currentRequest();
  return withoutUndefined({ requestId: requestId ?? request?.requestId, address: request?.address?.() });
}

/** What whoever looks after the box is to find in one place, whoever did it. */
function recordSecurity(
  op: Operation,
  { security }: Rooms,
  { parsed, context, after }: { parsed: unknown; context: CallContext; after?: unknown },
): void {
  const kind = EXPORTS.has(op.id) ? 'exported' : CREDENTIALS.has(op.permission) ? 'credentials_changed' : undefined;
  if (!kind || (kind === 'credentials_changed' && op.kind === 'read')) return;
  const { caller, source } = context;
  const target = { ...readMade(op, after), ...readTarget(op, parsed) };
  security.called(kind, { operation: op.id, caller, source, target, ...originOf(context) });
}

const EXPORTS = new Set(['runs.export']);
const CREDENTIALS = new Set(['keys:write', 'secrets:write', 'secrets:rotate', 'provider:write', 'settings:admin']);

/** Tags of what may belong to one person alone. */
const PRIVATE = new Set(['runs', 'approvals', 'sessions', 'workflows']);

function runIdOf(value: unknown): unknown {
  return (Object(value) as { runId?: unknown }).runId;
}

/** No store finds or keeps such a text; what is sealed or a document of its own is not looked into. */
function checkTexts({ body, secret = [] }: Operation, input: unknown): void {
  for (const [name, value] of Object.entries(Object(input) as object)) {
    const message = typeof value === 'string' ? explainText(value) : undefined;
    if (message === undefined) continue;
    // A cursor is no text of anyone: who reads it says that it is none.
    if (name === body || name === 'cursor' || secret.includes(name)) continue;
    throw new BoxError('invalid_request', `The request is not valid. "${name}": ${message}.`, {
      details: { issues: [{ path: [name], message }] },
    });
  }
}

/** What the path names. */
function readTarget({ route }: Operation, input: unknown): Record<string, string> {
  const names = [...route.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  const members = Object(input) as Record<string, unknown>;
  return Object.fromEntries(names.map((name) => [name, String(members[name] ?? '')]));
}

/** What a call has made that its path does not name. */
function readMade({ route }: Operation, answer: unknown): Record<string, string> {
  const { id } = Object(answer) as { id?: unknown };
  return route.startsWith('POST ') && !route.includes(':') && typeof id === 'string' ? { id } : {};
}

function withoutMembers(value: unknown, names: readonly string[]): unknown {
  if (names.length === 0 || typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
}
