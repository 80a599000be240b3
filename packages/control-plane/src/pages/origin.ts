/**
 * Whether a text is one origin and nothing else, so that it may stand in a policy: `URL` lets a host have what means something
 * there, a `*` for any host, a `;` for another directive.
 */
export function isOrigin(text: string): boolean {
  return text.length <= MOST_LENGTH && ORIGIN.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

// --- internal ---

/** A name has 253 characters at most. */
const MOST_LENGTH = 300;
const ORIGIN = /^https?:\/\/(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;
