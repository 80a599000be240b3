import type { OperationOutput } from '@svc/runtime/client';
import { Badge } from '../../ui/badge.tsx';
import type { Tone } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Link } from '../../ui/link.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';

export type Remembered = OperationOutput<'memory.list'>['items'][number];

/** @param onUser shows what is remembered of that user of a client alone */
export function toColumns(onUser: (user: string, client: string | null) => void): readonly Column<Remembered>[] {
  return [
    {
      title: 'Remembered',
      cell: ({ pieces, error, sessionId }) => (
        <>
          <Pieces of={pieces} />
          <Link to={`/sessions/${sessionId}`} className="mt-1 inline-block text-xs text-accent underline">
            Said in a session
          </Link>
          {error !== null && <bdi className="mt-1 block text-xs wrap-anywhere text-bad">{error}</bdi>}
        </>
      ),
    },
    {
      title: 'User',
      cell: ({ user, client }) => (
        <>
          <Button
            look="quiet"
            className="!justify-start !px-0 !py-0 text-left !whitespace-normal text-accent underline wrap-anywhere"
            onClick={() => onUser(user, client)}
          >
            <bdi>{user}</bdi>
          </Button>
          {client !== null && <bdi className="block text-xs wrap-anywhere text-muted">{client}</bdi>}
        </>
      ),
    },
    { title: 'Agent', wide: true, cell: ({ agent }) => agent },
    { title: 'State', cell: ({ state }) => <Badge tone={TONES[state]}>{WORDS[state]}</Badge> },
    { title: 'When', wide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  ];
}

// --- internal ---

const TONES: Record<Remembered['state'], Tone> = {
  queued: 'neutral',
  embedding: 'accent',
  ready: 'good',
  failed: 'bad',
};
const WORDS: Record<Remembered['state'], string> = {
  queued: 'waits',
  embedding: 'is embedded',
  ready: 'can be recalled',
  failed: 'failed',
};

/** Characters that are shown unasked. */
const SHORT = 160;

function Pieces({ of }: { of: readonly string[] }) {
  const [first = ''] = of;
  const isShort = of.length < 2 && first.length <= SHORT;
  if (isShort) return <Piece text={first} />;
  return (
    <details>
      <summary className="cursor-pointer wrap-anywhere">
        <bdi>{first.slice(0, SHORT)}</bdi>
        {first.length > SHORT && '…'}
        {of.length > 1 && <span className="text-xs text-muted"> ({of.length} pieces)</span>}
      </summary>
      <ol aria-label="Pieces" className="mt-2 flex flex-col gap-2">
        {of.map((text, n) => (
          <li key={n} className="rounded border border-line p-2">
            <Piece text={text} />
          </li>
        ))}
      </ol>
    </details>
  );
}

function Piece({ text }: { text: string }) {
  return <bdi className="block whitespace-pre-wrap wrap-anywhere">{text}</bdi>;
}
