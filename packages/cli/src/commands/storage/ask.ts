import { CliError, EXIT } from '../../errors.ts';

/** What is answered at a signed address of the object storage. @param key of what is written, where it must not be there */
export async function ask(url: string, init: RequestInit, key?: string): Promise<Response> {
  const { origin } = new URL(url);
  const answer = await fetch(url, { ...init, redirect: 'manual' }).catch((cause: unknown) => {
    if (init.signal?.aborted)
      throw new CliError('generic', 'Interrupted.', { exitCode: EXIT.interrupted, suggestion: 'Run it again.' });
    throw new CliError('store_unavailable', `The object storage at ${origin} does not answer this machine.`, {
      suggestion: 'SVC_S3_ENDPOINT has to be an address that both the box and this machine can reach.',
      details: { reason: String((cause as { cause?: { code?: string } }).cause?.code ?? 'unknown') },
    });
  });
  if (answer.ok) return answer;
  const code = /<Code>(\w+)<\/Code>/.exec(await answer.text().catch(() => ''))?.[1] ?? null;
  if (key !== undefined && (answer.status === 412 || answer.status === 409))
    throw new CliError('object_exists', `There is an object "${key}" already.`, {
      suggestion: 'Choose another key, or add --overwrite.',
    });
  const reason = code === null ? `${answer.status}` : `${answer.status} ${code}`;
  throw new CliError('storage_refused', `The object storage at ${origin} refused with ${reason}.`, {
    suggestion: 'Look at the code in docs/guide/storage.md, and at the clock of this machine.',
    details: { status: answer.status, code },
  });
}
