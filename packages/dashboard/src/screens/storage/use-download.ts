import { useState } from 'react';
import { useBox } from '../../app/box.ts';
import { toastFailure } from '../../ui/toast.tsx';

/**
 * Has the browser fetch an object by an address that is asked for at that moment, is good for a minute, and is in no link of
 * the page. In a tab of its own: where the storage cannot be reached from here, this page is still there.
 */
export function useDownload(): Download {
  const { client } = useBox();
  const [busyKey, setBusyKey] = useState<string>();
  const download: Download['download'] = async (key, { show } = { show: false }) => {
    setBusyKey(key);
    try {
      const { url } = await client.call('storage.download', { key, expiresIn: SECONDS, show });
      const link = Object.assign(document.createElement('a'), {
        href: url,
        target: '_blank',
        rel: 'noopener noreferrer',
      });
      link.click();
    } catch (error) {
      toastFailure(error);
    } finally {
      setBusyKey(undefined);
    }
  };
  return { download, busyKey };
}

interface Download {
  download(key: string, how?: { show: boolean }): Promise<void>;
  /** The object whose address is asked for. */
  busyKey: string | undefined;
}

// --- internal ---

const SECONDS = 60;
