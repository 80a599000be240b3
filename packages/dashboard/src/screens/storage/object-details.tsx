import { useCall } from '../../api/queries.ts';
import { Answer } from '../../ui/answer.tsx';
import { Button } from '../../ui/button.tsx';
import { Copy } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Json } from '../../ui/json/json.tsx';
import { Time } from '../../ui/time.tsx';
import { nameOf, toBytes } from './keys.ts';
import { useDownload } from './use-download.ts';

/** Size, type, time and metadata of one object, and what is in it, on a page of its own. */
export function ObjectDetails({ objectKey: key, onClose }: { objectKey: string; onClose(): void }) {
  const stat = useCall('storage.stat', { key });
  const { download, busyKey } = useDownload();
  const busy = busyKey !== undefined;
  return (
    <Dialog
      title={nameOf(key)}
      wide
      onClose={onClose}
      actions={
        <>
          {stat.data && (
            <>
              <Button busy={busy} onClick={() => void download(key, { show: true })}>
                Show it in a tab
              </Button>
              <Button busy={busy} onClick={() => void download(key)}>
                Download
              </Button>
            </>
          )}
          <Button onClick={onClose}>Close</Button>
        </>
      }
    >
      <Answer of={stat} rows={4}>
        {({ size, contentType, lastModified, etag, metadata }) => (
          <>
            <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
              <dt className="text-muted">Key</dt>
              <dd className="flex flex-wrap items-center gap-2">
                <code className="wrap-anywhere">{key}</code> <Copy text={key} what="the key" />
              </dd>
              <dt className="text-muted">Size</dt>
              <dd>
                {toBytes(size)}
                {size >= 1_000 && ` (${size.toLocaleString('en')} bytes)`}
              </dd>
              <dt className="text-muted">Type</dt>
              <dd className="wrap-anywhere">{contentType}</dd>
              <dt className="text-muted">Changed</dt>
              <dd>
                <Time at={lastModified} />
              </dd>
              <dt className="text-muted">ETag</dt>
              <dd>
                <code className="text-xs wrap-anywhere">{etag}</code>
              </dd>
            </dl>
            {Object.keys(metadata).length > 0 && (
              <div className="mt-3">
                <h3 className="mb-1 font-medium">Metadata</h3>
                <Json value={metadata} label="Metadata" />
              </div>
            )}
          </>
        )}
      </Answer>
    </Dialog>
  );
}
