import { useCall } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { useSearchState } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { ChooseFiles } from '../../ui/choose-files.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Page } from '../../ui/page.tsx';
import { SearchField } from '../../ui/search-field.tsx';
import { DropArea } from './drop-area.tsx';
import { Folders } from './folders.tsx';
import { folderOf } from './keys.ts';
import { ObjectDetails } from './object-details.tsx';
import { ObjectList } from './object-list.tsx';
import { Uploads } from './uploads.tsx';
import { useUploads } from './use-uploads.ts';

/** The objects of the box, a folder at a time. */
export default function Storage() {
  const [{ prefix = '', object }, change] = useSearchState();
  const buckets = useCall('storage.buckets', {});
  const uploads = useUploads();
  const mayWrite = useMay()('storage:write');
  const bucket = buckets.data?.items[0];
  const add = (files: readonly File[]) => uploads.add(folderOf(prefix), files);
  return (
    <Page
      wide
      title="Storage"
      actions={
        bucket &&
        mayWrite && (
          <ChooseFiles label="Files to upload" look="primary" onChoose={add}>
            Upload
          </ChooseFiles>
        )
      }
    >
      <Answer of={buckets}>
        {({ items }) => {
          if (!items[0]) return <NoStorage />;
          return (
            <>
              <p className="mb-3 text-muted">
                Bucket <code className="wrap-anywhere">{items[0].name}</code>, below{' '}
                <code className="wrap-anywhere">{items[0].prefix}</code>
              </p>
              <div className="mb-3 flex flex-wrap items-center gap-3">
                <div className="min-w-0 flex-1">
                  <Folders prefix={prefix} />
                </div>
                <div className="w-full sm:w-72">
                  <SearchField
                    label="Keys that begin with"
                    value={prefix}
                    onChange={(next) => change({ prefix: next })}
                  />
                </div>
              </div>
              <Uploads of={uploads} />
              <DropArea folder={folderOf(prefix)} isOpen={mayWrite} onDrop={add}>
                <ObjectList prefix={prefix} />
              </DropArea>
            </>
          );
        }}
      </Answer>
      {object && <ObjectDetails objectKey={object} onClose={() => change({ object: undefined }, 'back')} />}
    </Page>
  );
}

// --- internal ---

function NoStorage() {
  return (
    <Empty title="This box has no object storage">
      Name an S3 backend in <code>SVC_S3_ENDPOINT</code>, <code>SVC_S3_ACCESS_KEY</code> and{' '}
      <code>SVC_S3_SECRET_KEY</code>, and start the box again.
    </Empty>
  );
}
