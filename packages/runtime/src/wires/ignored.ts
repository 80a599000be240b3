/**
 * The members of a request that have no effect, by name: a client that counts on one sees so in the head of the answer, where
 * refusing the request would turn away every client that sends more than it needs. Null is as good as left out.
 */
export function listIgnored(request: object, known: ReadonlySet<string>, prefix = ''): string[] {
  const names: string[] = [];
  for (const name in request) {
    if (known.has(name) || (request as Record<string, unknown>)[name] === null) continue;
    // One more than is shown says that there are more.
    if (names.length > MOST_NAMES) break;
    names.push(prefix + toToken(name));
  }
  return names;
}

/** Names them in `x-svc-ignored`, separated by a comma and a space; after twenty names three dots stand for the rest. */
export function nameIgnored(response: Response, names: readonly string[]): Response {
  if (names.length === 0) return response;
  const shown = names.length > MOST_NAMES ? [...names.slice(0, MOST_NAMES), '...'] : names;
  response.headers.set(IGNORED_HEADER, shown.join(', '));
  return response;
}

// --- internal ---

const IGNORED_HEADER = 'x-svc-ignored';
const MOST_NAMES = 20;
const MOST_CHARACTERS = 64;

/** Of a caller's text nothing that a header may not hold. */
function toToken(name: string): string {
  return name.slice(0, MOST_CHARACTERS).replaceAll(/[^\w.-]/g, '?');
}
