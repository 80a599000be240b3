import type { OperationOutput } from '@svc/runtime/client';
import type { Tone } from '../../ui/badge.tsx';

export type Document = OperationOutput<'rag.documents.list'>['items'][number];
export type State = Document['state'];
type Place = OperationOutput<'rag.search'>['items'][number]['place'];

export const STATE_TONES: Record<State, Tone> = {
  queued: 'warn',
  embedding: 'accent',
  ready: 'good',
  failed: 'bad',
};

/** Where in its document something stands, in words. */
export function placeOf({ headings, line, page }: Place): string {
  return [...headings, ...(page === null ? [] : [`page ${page}`]), `line ${line}`].join(' › ');
}
