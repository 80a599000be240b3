import { useBox } from '../../app/box.ts';
import { toastFailure } from '../../ui/toast.tsx';

/**
 * Has the browser fetch an object by an address that is asked for at that moment, is good for a minute, and is in no link of
 * the page. In a tab of its own: where the storage cannot be reached from here, this page is still there.
 */
export function useDownload(): (key: string, how?: { show: boolean }) => Promise<void> {
  const { client } = useBox();
  return async (key, { show } = { show: false }) => {
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
    }
  };
}

// --- internal ---

const SECONDS = 60;
