import { useState } from 'react';
import { previewOf } from './rows.ts';
import type { JsonRow } from './rows.ts';
import { toCount } from '../count.ts';

export interface LineProps {
  row: JsonRow;
  /** The one that the keyboard is at. */
  isActive: boolean;
  onActive(): void;
  onToggle(): void;
}

/** One line of the tree. */
export function Line({ row, isActive, onActive, onToggle }: LineProps) {
  const canToggle = row.kind === 'more' || !!row.size;
  return (
    <div
      role="treeitem"
      data-row={row.id}
      aria-level={row.depth + 1}
      aria-expanded={row.kind === 'value' && row.size ? row.isOpen : undefined}
      aria-selected={isActive}
      tabIndex={isActive ? 0 : -1}
      className={`rounded px-1 wrap-anywhere outline-offset-[-2px] hover:bg-raised ${canToggle ? 'cursor-pointer' : ''} ${isActive ? 'bg-raised' : ''}`}
      style={{ paddingInlineStart: `${Math.min(row.depth, DEEPEST) * 16 + 4}px` }}
      onFocus={onActive}
      onClick={() => {
        onActive();
        if (canToggle) onToggle();
      }}
    >
      {row.kind === 'more' ? (
        <span className="text-accent underline">
          {LABELS[row.where]}: {toCount(row.left)} {row.where === 'above' ? 'levels' : 'are left'}
        </span>
      ) : (
        <>
          <span aria-hidden className="inline-block w-4 text-muted select-none">
            {row.size ? (row.isOpen ? '▾' : '▸') : ''}
          </span>
          {row.name !== undefined && (
            <>
              <bdi className="text-accent">{row.name}</bdi>
              <span className="text-muted">: </span>
            </>
          )}
          <Value row={row} />
        </>
      )}
    </div>
  );
}

// --- internal ---

const LABELS = { before: 'Show those before', after: 'Show more', above: 'Show more of what it is in' } as const;

/** Deeper ones stand no further to the right. */
const DEEPEST = 24;
/** Characters of a text that are shown at first, and at most: more would freeze the page. */
const BRIEF = 400;
const MOST = 100_000;

function Value({ row }: { row: Extract<JsonRow, { kind: 'value' }> }) {
  const { value, size, isOpen } = row;
  if (size !== undefined) {
    const count = `${toCount(size)} ${Array.isArray(value) ? (size === 1 ? 'entry' : 'entries') : size === 1 ? 'member' : 'members'}`;
    return (
      <span className="text-muted">
        {!isOpen && <bdi>{previewOf(value)} </bdi>}
        {(isOpen || size > 3) && <span className="text-xs">{count}</span>}
      </span>
    );
  }
  if (typeof value === 'string') return <Text value={value} />;
  return <span className={typeof value === 'number' ? 'text-warn' : 'text-muted'}>{String(value)}</span>;
}

function Text({ value }: { value: string }) {
  const [isWhole, setWhole] = useState(false);
  const shown = value.length > BRIEF && !isWhole ? value.slice(0, BRIEF) : value.slice(0, MOST);
  return (
    <span className="text-good">
      <span aria-hidden>&quot;</span>
      <bdi className="whitespace-pre-wrap">{shown}</bdi>
      {shown.length === value.length && <span aria-hidden>&quot;</span>}
      {shown.length < value.length && !isWhole && (
        <button
          type="button"
          className="ml-2 text-accent underline"
          onClick={(event) => {
            event.stopPropagation();
            setWhole(true);
          }}
        >
          Show all {toCount(value.length)} characters
        </button>
      )}
      {isWhole && value.length > MOST && (
        <span className="ml-2 text-muted">
          The first {toCount(MOST)} of {toCount(value.length)} characters. Copy it to have the rest.
        </span>
      )}
    </span>
  );
}
