import { Badge } from '../../ui/badge.tsx';
import type { Tone } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { describe } from '../../ui/failure.tsx';
import { Panel } from '../../ui/page.tsx';
import { BAR } from '../../ui/progress.ts';
import { toBytes } from './keys.ts';
import type { Upload, UploadQueue } from './use-uploads.ts';

/** What is on its way, and the outcome of it. */
export function Uploads({ of: { uploads, replace, cancel, clear } }: { of: UploadQueue }) {
  if (uploads.length === 0) return null;
  const open = uploads.filter(({ state }) => state === 'waiting' || state === 'sending').length;
  return (
    <Panel
      title={<span role="status">{open > 0 ? `${open} of ${uploads.length} uploads to go` : 'Uploads are over'}</span>}
      actions={
        open < uploads.length && (
          <Button small onClick={clear}>
            Clear
          </Button>
        )
      }
    >
      <ul aria-label="Uploads" className="max-h-80 overflow-y-auto">
        {uploads.map((upload) => (
          <li key={upload.id} className="border-b border-line py-1.5 last:border-0">
            <div className="flex flex-wrap items-center gap-2">
              <bdi className="min-w-0 flex-1 wrap-anywhere">{upload.key}</bdi>
              <span className="text-xs text-muted">{toBytes(upload.size)}</span>
              {upload.state === 'sending' ? (
                <progress aria-label={`Progress of ${upload.key}`} className={BAR} max={1} value={upload.share} />
              ) : (
                <Badge tone={STATES[upload.state].tone}>{STATES[upload.state].text}</Badge>
              )}
              {upload.state === 'exists' && (
                <Button small aria-label={`Replace ${upload.key}`} onClick={() => replace(upload.id)}>
                  Replace
                </Button>
              )}
              {(upload.state === 'waiting' || upload.state === 'sending') && (
                <Button small aria-label={`Cancel ${upload.key}`} onClick={() => cancel(upload.id)}>
                  Cancel
                </Button>
              )}
            </div>
            {upload.state === 'failed' && (
              <p className="text-xs wrap-anywhere text-bad">{describe(upload.error).message}</p>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

// --- internal ---

const STATES: Record<Upload['state'], { text: string; tone: Tone }> = {
  waiting: { text: 'waiting', tone: 'neutral' },
  sending: { text: 'sending', tone: 'accent' },
  done: { text: 'uploaded', tone: 'good' },
  exists: { text: 'is there already', tone: 'warn' },
  failed: { text: 'failed', tone: 'bad' },
  cancelled: { text: 'cancelled', tone: 'neutral' },
};
