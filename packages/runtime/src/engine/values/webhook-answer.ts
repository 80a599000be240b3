import { bytesOf } from './bodies.ts';

/** What the caller of a webhook is answered: a Response made of text or bytes, or its parts. */
export type AnswerOption = Response | { status?: number; headers?: Record<string, string>; body?: string };

/** An answer as it is stored with its hook. */
export interface StoredAnswer {
  status: number;
  headers: [string, string][];
  body: string | Uint8Array | null;
}

/** Throws what an outside service could not be answered, before anyone waits for it. */
export function toAnswer(option: AnswerOption = {}): StoredAnswer {
  try {
    if (option instanceof Response) return toStored(option);
    const { status = 202, headers = {}, body = '' } = option;
    return toStored(new Response(body === '' ? null : body, { status, headers }));
  } catch (error) {
    throw new TypeError(`The "respondWith" of createWebhook() is no answer: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

export function fromAnswer({ status, headers, body }: StoredAnswer): Response {
  return new Response(body as string | Uint8Array<ArrayBuffer> | null, { status, headers });
}

// --- internal ---

function toStored(response: Response): StoredAnswer {
  const bytes = bytesOf(response);
  if (bytes === undefined) throw new TypeError('its body is neither text nor bytes.');
  return { status: response.status, headers: [...response.headers], body: bytes && new Uint8Array(bytes) };
}
