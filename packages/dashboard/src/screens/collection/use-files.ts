import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { refreshRooms } from '../../api/refresh.ts';
import { useBox } from '../../app/box.ts';

export interface AddedFile {
  id: number;
  name: string;
  /** `same`: the document is as it was. */
  state: 'waiting' | 'reading' | 'added' | 'same' | 'failed';
  error?: unknown;
}

export interface FileQueue {
  files: readonly AddedFile[];
  add(files: readonly File[]): void;
  /** Forgets what is over. */
  clear(): void;
}

/** Files on their way into a collection, one after the other: the box reads each while it is waited for. */
export function useFiles(collection: string): FileQueue {
  const { client } = useBox();
  const queries = useQueryClient();
  const [files, setFiles] = useState<readonly AddedFile[]>([]);
  const queue = useRef({ next: 1, last: Promise.resolve() });

  const change = (id: number, next: Partial<AddedFile>): void =>
    setFiles((before) => before.map((file) => (file.id === id ? { ...file, ...next } : file)));
  const send = async (id: number, file: File): Promise<void> => {
    change(id, { state: 'reading' });
    try {
      if (file.size > MOST_BYTES) throw new Error('It is larger than 32 MiB.');
      const { state } = await client.call('rag.documents.upload', {
        name: collection,
        fileName: encodeURIComponent(file.name),
        ...(file.type ? { type: file.type } : {}),
        content: new Uint8Array(await file.arrayBuffer()),
      });
      change(id, { state: state === 'ready' ? 'same' : 'added' });
    } catch (error) {
      change(id, { state: 'failed', error });
    }
    await refreshRooms(queries, ['rag']);
  };
  return {
    files,
    add(chosen) {
      const added = chosen.map((file) => ({ file, id: queue.current.next++ }));
      setFiles((before) => [
        ...before,
        ...added.map(({ id, file }): AddedFile => ({ id, name: file.name, state: 'waiting' })),
      ]);
      for (const { id, file } of added) queue.current.last = queue.current.last.then(() => send(id, file));
    },
    clear: () => setFiles((before) => before.filter(isOpen)),
  };
}

export function isOpen({ state }: AddedFile): boolean {
  return state === 'waiting' || state === 'reading';
}

// --- internal ---

const MOST_BYTES = 32 * 2 ** 20;
