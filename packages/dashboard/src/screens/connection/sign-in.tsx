import { useEffect, useState } from 'react';
import { useCall, useChange } from '../../api/queries.ts';
import { Button } from '../../ui/button.tsx';
import { Copy } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Failure } from '../../ui/failure.tsx';
import { toast } from '../../ui/toast.tsx';
import type { Connection } from '../connections/connection-state.ts';
import { openWindow, useReturn } from './window.ts';

/** Signs in at the service in a window of its own, and follows until the box has the token. */
export function SignIn({ connection, onClose }: { connection: Connection; onClose(): void }) {
  const { id, title, callbackUrl, scopes } = connection;
  const begin = useChange('connections.authorize', []);
  const now = useCall('connections.get', { id });
  const [opened, setOpened] = useState<Window>();
  const [url, setUrl] = useState<string>();
  const [before] = useState(connection.updatedAt);
  const [isLooking, setLooking] = useState(false);
  useReturn(url !== undefined, opened, () => void now.refetch());
  // A token that was there before is no sign-in.
  const isDone = url !== undefined && now.data?.state === 'ready' && now.data.updatedAt !== before;
  useEffect(() => {
    if (!isDone) return;
    opened?.close();
    toast(`${title} is connected.`);
    onClose();
    // Once, when it becomes so.
  }, [isDone]);
  const look = async () => {
    setLooking(true);
    await now.refetch();
    setLooking(false);
  };
  const open = async () => {
    // Before anything is waited for: only what a person has just pressed may open a window.
    const target = openWindow();
    setOpened(target);
    try {
      const answer = await begin.mutateAsync({ id });
      setUrl(answer.url);
      if (target) target.location.href = answer.url;
    } catch {
      target?.close();
    }
  };
  return (
    <Dialog
      title={`Sign in at ${title}`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{url === undefined ? 'Cancel' : 'Close'}</Button>
          {url !== undefined && (
            <Button busy={isLooking} onClick={() => void look()}>
              I have signed in
            </Button>
          )}
          <Button look={url === undefined ? 'primary' : 'plain'} busy={begin.isPending} onClick={() => void open()}>
            {url === undefined ? 'Open the sign-in page' : 'Open it again'}
          </Button>
        </>
      }
    >
      <p>
        The page of {title} opens in a window of its own. Who owns the account says yes there
        {scopes.length > 0 && (
          <>
            {' to '}
            <code className="text-xs wrap-anywhere">{scopes.join(' ')}</code>
          </>
        )}
        .
      </p>
      <p className="mt-2 text-muted">The app at the service has to name this redirect address:</p>
      <p className="mt-1 flex items-center gap-2 rounded border border-line bg-raised px-3 py-2">
        <code className="min-w-0 flex-1 text-xs wrap-anywhere">{callbackUrl}</code>
        <Copy text={callbackUrl} what="the redirect address" />
      </p>
      <div aria-live="polite" className="mt-3">
        {url !== undefined && (
          <p>
            {opened ? 'Sign in in the other window. ' : 'Your browser did not open a window. '}
            <a className="text-accent underline" href={url} target="_blank" rel="noreferrer">
              Open the page in a tab
            </a>
          </p>
        )}
        {begin.error && <Failure error={begin.error} />}
        {now.error && <Failure error={now.error} />}
      </div>
    </Dialog>
  );
}
