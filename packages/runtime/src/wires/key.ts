import { BoxError } from '../errors.ts';

/** The API key of a chat request, from either header. Dev accepts any that is not empty; none is 401. */
export function readApiKey(headers: Headers): string {
  const bearer = /^bearer\s+(\S.*)$/i.exec(headers.get('authorization') ?? '')?.[1];
  const key = bearer ?? headers.get('x-api-key') ?? '';
  if (key.trim() === '')
    throw new BoxError('unauthorized', 'No API key. Send it as "Authorization: Bearer <key>" or "x-api-key: <key>".');
  return key.trim();
}
