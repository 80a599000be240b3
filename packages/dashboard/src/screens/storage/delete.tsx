import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useCall, useChange } from '../../api/queries.ts';
import { refreshRooms } from '../../api/refresh.ts';
import { useBox } from '../../app/box.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Failure } from '../../ui/failure.tsx';
import { toast } from '../../ui/toast.tsx';
import { nameOf } from './keys.ts';

export function DeleteObject({ objectKey: key, onClose }: { objectKey: string; onClose(): void }) {
  const remove = useChange('storage.delete');
  return (
    <Confirm
      title={`Delete ${nameOf(key)}?`}
      verb="Delete"
      danger
      onClose={onClose}
      onConfirm={async () => {
        await remove.mutateAsync({ keys: [key] });
        toast(`${nameOf(key)} is deleted.`);
      }}
    >
      <code className="wrap-anywhere">{key}</code> cannot be recovered.
    </Confirm>
  );
}

/** Deletes all that begins with a prefix, a thousand at a time, once it is known how many that are. */
export function DeleteFolder({ prefix, onClose }: { prefix: string; onClose(): void }) {
  const { client } = useBox();
  const queries = useQueryClient();
  const found = useCall('storage.list', { prefix, limit: COUNTED });
  const [deleted, setDeleted] = useState(0);
  const count = found.data && toCount(found.data.items.length, found.data.nextCursor !== null);
  const confirm = async () => {
    let sum = 0;
    try {
      for (let isMore = true; isMore;) {
        const answer = await client.call('storage.delete', { prefix });
        isMore = answer.isMore;
        setDeleted((sum += answer.deleted));
      }
    } finally {
      // Once, at the end: the count that was agreed to stays what it was.
      void refreshRooms(queries, ['storage']);
    }
    toast(`${toCount(sum, false)} deleted.`);
  };
  return (
    <Confirm
      title={`Delete ${nameOf(prefix)}?`}
      verb={count === undefined ? 'Delete' : `Delete ${count}`}
      danger
      disabled={count === undefined}
      onClose={onClose}
      onConfirm={confirm}
    >
      {found.error ? (
        <Failure error={found.error} onRetry={() => void found.refetch()} />
      ) : (
        <p>
          {count === undefined ? 'Counting what' : `${count} whose key`} begins with{' '}
          <code className="wrap-anywhere">{prefix}</code>
          {count === undefined ? ' …' : ': they cannot be recovered.'}
        </p>
      )}
      {deleted > 0 && <p role="status">{toCount(deleted, false)} deleted so far.</p>}
    </Confirm>
  );
}

// --- internal ---

const COUNTED = 1_000;

function toCount(count: number, isMore: boolean): string {
  if (isMore) return `more than ${count.toLocaleString('en')} objects`;
  return count === 1 ? '1 object' : `${count.toLocaleString('en')} objects`;
}
