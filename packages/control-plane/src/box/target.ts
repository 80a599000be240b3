import { notFound, PlaneError } from '../errors.ts';

/**
 * Where at the box a request for `/box/…` goes: path and query. `target` is what is in the request line, before anything
 * has read a path out of it. The path that is asked for is rebuilt from what its segments mean, so that no two readers of it
 * can differ. Throws `not_found` for what is not passed on, and `invalid_request` for a path that is no plain one.
 */
export function toBoxTarget(target: string): string {
  if (!PLAIN.test(target)) throw notPlain('It does not begin with /box/, or has characters that no URL has');
  const at = target.indexOf('?');
  const path = at === -1 ? target : target.slice(0, at);
  const segments = path.slice('/box/'.length).split('/').map(readSegment);
  const [first = '', second = ''] = segments;
  const isPassed = WHOLE.has(first) ? segments.length === 1 : BELOW.has(first);
  if (!isPassed || (first === 'api' && isRegistration(second)))
    throw notFound(
      `route /box/${segments.map(encodeURIComponent).join('/')}: the box has it, or not, for itself alone`,
    );
  return `/${segments.map(encodeURIComponent).join('/')}${at === -1 ? '' : target.slice(at)}`;
}

// --- internal ---

/** With all that lies below. */
const BELOW = new Set(['api', 'agui', 'wire-a', 'wire-b', 'openai', 'anthropic', 'mcp']);
const WHOLE = new Set(['health', 'live']);

/** In the form of a path: never an absolute one. No backslash, no fragment, no byte outside of ASCII. */
const PLAIN = /^\/box\/[\w\-.~!$&'()*+,;=:@%/]*(?:\?[\w\-.~!$&'()*+,;=:@%/?[\]{}|^`"<>]*)?$/;
/** What would be a step to another folder for a reader that decodes once more. */
const NESTED = /%(?:2e|2f|5c|25)/i;

/** However the rest of the path is joined to it: another reader may take an escaped slash for one, or a parameter for nothing. */
function isRegistration(segment: string): boolean {
  const [name = ''] = segment.split(/[/;]/);
  return name.toLowerCase() === 'registration';
}

function readSegment(raw: string): string {
  const segment = decode(raw);
  if (segment === '' || segment === '.' || segment === '..') throw notPlain('A segment of it is empty, "." or ".."');
  // oxlint-disable-next-line no-control-regex -- those are what is looked for
  if (/[\\\u0000-\u001f\u007f]/.test(segment) || NESTED.test(segment))
    throw notPlain('A segment of it is escaped twice');
  // A slash that is part of an id stays escaped on its way; of steps to elsewhere it is none.
  if (segment.includes('/') && segment.split('/').some((part) => part === '' || part === '.' || part === '..'))
    throw notPlain('A segment of it hides another path');
  return segment;
}

function decode(raw: string): string {
  try {
    return decodeURIComponent(raw);
  } catch {
    throw notPlain('A "%" of it begins no escape');
  }
}

function notPlain(why: string): PlaneError {
  return new PlaneError('invalid_request', `The path is not one that is passed on to the box. ${why}.`);
}
