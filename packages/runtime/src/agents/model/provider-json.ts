import { answeredPage, wrongAnswer } from './provider-error.ts';

/** The answer of a provider that is one JSON document. */
export async function readProviderJson({ body, headers }: Response): Promise<unknown> {
  if (/\bhtml\b/i.test(headers.get('content-type') ?? '')) {
    await body?.cancel();
    throw answeredPage();
  }
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let size = 0;
  for await (const bytes of body ?? []) {
    size += bytes.byteLength;
    if (size > MOST_BYTES) throw wrongAnswer(`It sent more than ${MOST_BYTES} bytes in one answer.`);
    parts.push(decoder.decode(bytes, { stream: true }));
  }
  try {
    return JSON.parse(parts.join('')) as unknown;
  } catch {
    throw wrongAnswer('It answered, but not with JSON.');
  }
}

// --- internal ---

const MOST_BYTES = 16_777_216;
