export interface Put {
  url: string;
  /** Sent as they are. */
  headers: Record<string, string>;
  file: File;
  signal: AbortSignal;
  /** From 0 to 1. */
  onProgress(share: number): void;
}

/** What an object storage refused, or why it was not reached. */
export class PutError extends Error {
  /** `exists`: something is there under that key already. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Sends a file to a signed address. Not by `fetch`, which does not say how far it is. Throws `PutError`. */
export async function putFile({ url, headers, file, signal, onProgress }: Put): Promise<void> {
  const request = new XMLHttpRequest();
  const blocked = watchPolicy(url);
  try {
    await new Promise<void>((resolve, reject) => {
      if (signal.aborted) return reject(new PutError('aborted', 'It was cancelled.'));
      signal.addEventListener('abort', () => request.abort(), { once: true });
      request.upload.addEventListener('progress', ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0));
      request.addEventListener('load', () => {
        if (request.status >= 200 && request.status < 300) resolve();
        else reject(toRefusal(request.status, request.responseText));
      });
      request.addEventListener('abort', () => reject(new PutError('aborted', 'It was cancelled.')));
      request.addEventListener('error', () => reject(unreachable(url)));
      request.open('PUT', url);
      for (const [name, value] of Object.entries(headers))
        if (!OWN.has(name.toLowerCase())) request.setRequestHeader(name, value);
      return request.send(file);
    });
  } catch (error) {
    throw blocked.is() ? refusedByPolicy(url) : error;
  } finally {
    blocked.stop();
  }
}

// --- internal ---

/** Set by the browser alone, to what it sends. */
const OWN = new Set(['content-length', 'host']);

function toRefusal(status: number, body: string): PutError {
  if (status === 409 || status === 412) return new PutError('exists', 'There is an object of that key already.');
  const code = /<Code>(\w{1,100})<\/Code>/.exec(body)?.[1] ?? String(status);
  return new PutError('storage_refused', `The object storage refuses the file: ${code}.`);
}

/** Without the address itself, which whoever reads it could use. */
function unreachable(url: string): PutError {
  const { origin } = new URL(url);
  const message = `The object storage at ${origin} cannot be reached from this browser. It has to be an address that the browser reaches too, and its bucket needs a CORS rule that allows PUT from ${location.origin}.`;
  return new PutError('storage_unreachable', message);
}

function refusedByPolicy(url: string): PutError {
  const message = `This page may send nothing to ${new URL(url).origin}: the server it comes from does not name that address. Upload with: svc storage put <file> <key>`;
  return new PutError('storage_not_allowed', message);
}

/** Whether the policy of the page is what is in the way: only an event says so. */
function watchPolicy(url: string): { is(): boolean; stop(): void } {
  let isBlocked = false;
  const listen = ({ blockedURI, effectiveDirective }: SecurityPolicyViolationEvent): void => {
    if (effectiveDirective === 'connect-src' && blockedURI.startsWith(new URL(url).origin)) isBlocked = true;
  };
  document.addEventListener('securitypolicyviolation', listen);
  return { is: () => isBlocked, stop: () => document.removeEventListener('securitypolicyviolation', listen) };
}
