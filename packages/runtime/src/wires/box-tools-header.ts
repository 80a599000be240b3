import { BoxError } from '../errors.ts';

const BOX_TOOLS = 'x-svc-box-tools';

export interface ReadHow<W extends string> {
  /** What it may say on this wire. */
  ways: readonly W[];
  /** The client brought tools, so it would run what it is shown. */
  hasTools: boolean;
}

/** How a client asks to be shown the calls the box runs; undefined: as its request implies. */
export function readBoxToolsHeader<W extends string>(headers: Headers, { ways, hasTools }: ReadHow<W>): W | undefined {
  const asked = headers.get(BOX_TOOLS)?.trim() ?? '';
  const way = ways.find((name) => name === asked);
  if (way === 'shown' && hasTools)
    throw new BoxError(
      'invalid_request',
      `The header "${BOX_TOOLS}" is "shown" and the request has "tools": its client would run the calls it is shown. Leave one of the two out.`,
    );
  if (way !== undefined || asked === '') return way;
  const names = ways.map((name) => `"${name}"`).join(' or ');
  throw new BoxError('invalid_request', `The header "${BOX_TOOLS}" is "${asked}"; leave it out, or send ${names}.`);
}

/**
 * The Vercel AI SDK takes each call that names none of its tools for an error, also where it has no tools. In a page it
 * cannot say what it is, so whatever asks from one counts: a browser sends `origin` with every POST, and no program does.
 */
export function mayTakeCallsForErrors(headers: Headers): boolean {
  return headers.has('origin') || headers.get('user-agent')?.includes('ai-sdk/') === true;
}
