import { BoxError } from '../errors.ts';

const BOX_TOOLS = 'x-svc-box-tools';

/** How a client asks to be shown the calls the box runs; undefined: as its request implies. */
export function readBoxToolsHeader<W extends string>(headers: Headers, ways: readonly W[]): W | undefined {
  const asked = headers.get(BOX_TOOLS)?.trim() ?? '';
  const way = ways.find((name) => name === asked);
  if (way !== undefined || asked === '') return way;
  const names = ways.map((name) => `"${name}"`).join(' or ');
  throw new BoxError('invalid_request', `The header "${BOX_TOOLS}" is "${asked}"; leave it out, or send ${names}.`);
}

/** The Vercel AI SDK takes each call that names none of its tools for an error, also where it has no tools. */
export function isAiSdk(headers: Headers): boolean {
  return headers.get('user-agent')?.includes('ai-sdk/') === true;
}
