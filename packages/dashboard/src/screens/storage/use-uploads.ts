import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { refreshRooms } from '../../api/refresh.ts';
import { useBox } from '../../app/box.ts';
import { PutError, putFile } from './put-file.ts';

export interface Upload {
  id: number;
  key: string;
  size: number;
  /** `exists`: something has that key, and was not replaced. */
  state: 'waiting' | 'sending' | 'done' | 'exists' | 'failed' | 'cancelled';
  /** From 0 to 1. */
  share: number;
  error?: unknown;
}

export interface UploadQueue {
  uploads: readonly Upload[];
  add(folder: string, files: readonly File[]): void;
  /** Once more, over what is there. */
  replace(id: number): void;
  cancel(id: number): void;
  /** Forgets what is over. */
  clear(): void;
}

/** Files on their way into the storage, one after the other. They go on when another screen is opened. */
export function useUploads(): UploadQueue {
  const { client } = useBox();
  const queries = useQueryClient();
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const queue = useRef<Queue>({ next: 1, last: Promise.resolve(), files: new Map() });

  const change = (id: number, next: Partial<Upload>): void =>
    setUploads((before) => before.map((upload) => (upload.id === id ? { ...upload, ...next } : upload)));
  const send = async (id: number, key: string, overwrite: boolean): Promise<void> => {
    const held = queue.current.files.get(id);
    if (!held) return;
    const { file, ending } = held;
    if (ending.signal.aborted) return change(id, { state: 'cancelled' });
    change(id, { state: 'sending', share: 0, error: undefined });
    try {
      // Asked for when its turn comes, so that it need not be good for long.
      const { url, headers } = await client.call('storage.upload', {
        key,
        expiresIn: SECONDS,
        size: file.size,
        overwrite,
        ...(file.type ? { contentType: file.type } : {}),
      });
      await putFile({ url, headers, file, signal: ending.signal, onProgress: (share) => change(id, { share }) });
      queue.current.files.delete(id);
      change(id, { state: 'done', share: 1 });
      await refreshRooms(queries, ['storage']);
    } catch (error) {
      change(id, { state: stateOf(error), error });
    }
  };
  const line = (id: number, key: string, overwrite: boolean): void => {
    change(id, { state: 'waiting', share: 0 });
    queue.current.last = queue.current.last.then(() => send(id, key, overwrite));
  };
  return {
    uploads,
    add(folder, files) {
      const added = files.map((file): Upload => {
        const id = queue.current.next++;
        queue.current.files.set(id, { file, ending: new AbortController() });
        return { id, key: folder + file.name, size: file.size, state: 'waiting', share: 0 };
      });
      setUploads((before) => [...before, ...added]);
      for (const { id, key } of added) line(id, key, false);
    },
    replace(id) {
      const upload = uploads.find((each) => each.id === id);
      if (upload) line(id, upload.key, true);
    },
    cancel(id) {
      queue.current.files.get(id)?.ending.abort();
      change(id, { state: 'cancelled' });
    },
    clear() {
      const isOpen = ({ state }: Upload): boolean => state === 'waiting' || state === 'sending';
      for (const upload of uploads) if (!isOpen(upload)) queue.current.files.delete(upload.id);
      setUploads((before) => before.filter(isOpen));
    },
  };
}

// --- internal ---

const SECONDS = 300;

interface Queue {
  next: number;
  last: Promise<void>;
  files: Map<number, { file: File; ending: AbortController }>;
}

function stateOf(error: unknown): Upload['state'] {
  if (!(error instanceof PutError)) return 'failed';
  return error.code === 'exists' ? 'exists' : error.code === 'aborted' ? 'cancelled' : 'failed';
}
