import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { ClientError } from '@svc/runtime/client';
import { useBox } from '../app/box.ts';
import type { Session } from './session.ts';

/**
 * What the control plane that serves this page answers to `path`, kept until it is read again: there is no stream of what happens
 * there, so that is at each visit, and after each change.
 */
export function usePlane<Answer>(path: string, { enabled = true }: { enabled?: boolean } = {}) {
  const { session } = useBox();
  return useQuery({
    queryKey: [KEY, path],
    queryFn: () => askPlane<Answer>(session, 'GET', path),
    enabled,
    staleTime: 0,
  });
}

/** A change at the control plane, after which all that is shown of it is read again. */
export function usePlaneChange<Answer = undefined>() {
  const { session } = useBox();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ method, path, body }: PlaneChange) => askPlane<Answer>(session, method, path, body),
    onSettled: () => queries.invalidateQueries({ queryKey: [KEY] }),
  });
}

export interface PlaneChange {
  method: 'POST' | 'PATCH' | 'DELETE';
  path: string;
  body?: unknown;
}

// --- internal ---

/** No id of an operation of the box. */
const KEY = 'control plane';

async function askPlane<Answer>(session: Session, method: string, path: string, body?: unknown): Promise<Answer> {
  const answer = await fetch(`/api/v1${path}`, {
    method,
    ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  session.note(answer.status !== 401);
  const text = await answer.text();
  if (answer.ok) return (text === '' ? undefined : JSON.parse(text)) as Answer;
  throw new ClientError(answer.status, { message: `The control plane answered ${answer.status}.`, ...toProblem(text) });
}

/** What is in front of it may answer with a page. */
function toProblem(text: string): { code?: string; message?: string } {
  try {
    return JSON.parse(text) as { code?: string; message?: string };
  } catch {
    return {};
  }
}
