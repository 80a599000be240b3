import { Badge } from '../../ui/badge.tsx';
import type { Tone } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { describe } from '../../ui/failure.tsx';
import { Panel } from '../../ui/page.tsx';
import { isOpen } from './use-files.ts';
import type { AddedFile, FileQueue } from './use-files.ts';

/** The outcome of each. */
export function Files({ of: { files, clear } }: { of: FileQueue }) {
  if (files.length === 0) return null;
  const open = files.filter(isOpen).length;
  return (
    <Panel
      title={<span role="status">{open > 0 ? `${open} of ${files.length} files to go` : 'All files are read'}</span>}
      actions={
        open < files.length && (
          <Button small onClick={clear}>
            Clear
          </Button>
        )
      }
    >
      <ul aria-label="Files" className="max-h-80 overflow-y-auto">
        {files.map(({ id, name, state, error }) => (
          <li key={id} className="border-b border-line py-1.5 last:border-0">
            <div className="flex flex-wrap items-center gap-2">
              <bdi className="min-w-0 flex-1 wrap-anywhere">{name}</bdi>
              <Badge tone={STATES[state].tone}>{STATES[state].text}</Badge>
            </div>
            {error !== undefined && <p className="text-xs wrap-anywhere text-bad">{describe(error).message}</p>}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

// --- internal ---

const STATES: Record<AddedFile['state'], { text: string; tone: Tone }> = {
  waiting: { text: 'waiting', tone: 'neutral' },
  reading: { text: 'being read', tone: 'accent' },
  added: { text: 'added', tone: 'good' },
  same: { text: 'is the same as it was', tone: 'neutral' },
  failed: { text: 'failed', tone: 'bad' },
};
