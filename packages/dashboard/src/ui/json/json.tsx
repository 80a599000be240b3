import { useEffect, useId, useMemo, useRef, useState } from 'react';
import type { KeyboardEvent } from 'react';
import { Button } from '../button.tsx';
import { Copy } from '../copy.tsx';
import { baseAbove, baseFor, FIRST, formatPath, idOf, openFirst, openMore, openTo, toRows } from './rows.ts';
import type { JsonPath, JsonRow, Opened } from './rows.ts';
import { Line } from './line.tsx';
import { searchJson } from './search.ts';
import type { SearchResult } from './search.ts';

export interface JsonProps {
  value: unknown;
  /** What it is, for those who do not see it: `Input of the run`. */
  label: string;
}

/** A JSON value of any size and depth: a tree that is opened, searched and copied. */
export function Json({ value, label }: JsonProps) {
  const [opened, setOpened] = useState<Opened>(() => openFirst(value));
  // Where the lines begin: of what lies thousands of levels deep those around it are shown.
  const [base, setBase] = useState<JsonPath>([]);
  const [active, setActive] = useState('[]');
  const tree = useRef<HTMLDivElement>(null);
  const id = useId();
  useEffect(() => {
    setOpened(openFirst(value));
    setBase([]);
  }, [value]);
  const rows = useMemo(() => toRows(value, opened, base), [value, opened, base]);
  const at = Math.max(
    0,
    rows.findIndex((row) => row.id === active),
  );
  const current = rows[at];

  const moveTo = (row: JsonRow | undefined): void => {
    if (!row) return;
    setActive(row.id);
    tree.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(row.id)}"]`)?.focus();
  };
  const toggle = (row: JsonRow): void => {
    if (row.kind === 'more' && row.where === 'above') {
      const above = baseAbove(base);
      setOpened((before) => openTo(value, base, before, above));
      return setBase(above);
    }
    setOpened((before) => change(before, row));
    setBase(baseFor(row.path, base));
  };
  const show = (path: JsonPath): void => {
    const next = baseFor(path, base);
    setBase(next);
    setOpened((before) => openTo(value, path, before, next));
    setActive(idOf(path));
  };
  const onKey = (event: KeyboardEvent): void => {
    if (!current || event.target !== event.currentTarget.querySelector(`[data-row="${CSS.escape(current.id)}"]`))
      return;
    const move = MOVES[event.key];
    if (!move) return;
    event.preventDefault();
    const next = move(rows, at);
    if (next === 'toggle') toggle(current);
    else moveTo(next);
  };

  const isSmall = rows.length === 1;
  return (
    <div className="min-w-0">
      {!isSmall && (
        <div className="mb-1 flex flex-wrap items-center gap-2">
          <Search value={value} label={label} onShow={show} />
          <Copy text={() => JSON.stringify(value, null, 2)} label="Copy all" />
          {current?.kind === 'value' && current.path.length > 0 && (
            <Copy text={formatPath(current.path)} label="Copy path" what={`the path ${formatPath(current.path)}`} />
          )}
        </div>
      )}
      <div
        ref={tree}
        role="tree"
        aria-label={label}
        id={id}
        className="max-h-[70dvh] overflow-auto font-mono text-[13px] leading-6"
        onKeyDown={onKey}
      >
        {rows.map((row) => (
          <Line
            key={row.id}
            row={row}
            isActive={row.id === current?.id}
            onActive={() => setActive(row.id)}
            onToggle={() => toggle(row)}
          />
        ))}
      </div>
    </div>
  );
}

// --- internal ---

type Move = (rows: readonly JsonRow[], at: number) => JsonRow | 'toggle' | undefined;

const isOpen = (row: JsonRow | undefined): boolean => row?.kind === 'value' && row.isOpen;
const canOpen = (row: JsonRow | undefined): boolean => row?.kind === 'value' && !!row.size && !row.isOpen;

const MOVES: Record<string, Move | undefined> = {
  ArrowDown: (rows, at) => rows[at + 1],
  ArrowUp: (rows, at) => rows[at - 1],
  Home: (rows) => rows[0],
  End: (rows) => rows.at(-1),
  Enter: () => 'toggle',
  ' ': () => 'toggle',
  ArrowRight: (rows, at) => (canOpen(rows[at]) ? 'toggle' : isOpen(rows[at]) ? rows[at + 1] : undefined),
  ArrowLeft(rows, at) {
    if (isOpen(rows[at])) return 'toggle';
    const depth = rows[at]?.depth ?? 0;
    return rows.slice(0, at).findLast((row) => row.depth < depth);
  },
};

function change(opened: Opened, row: JsonRow): Opened {
  if (row.kind === 'more') return openMore(opened, row);
  const next = new Map(opened);
  if (row.isOpen) next.delete(row.id);
  else if (row.size) next.set(row.id, FIRST);
  return next;
}

interface SearchProps {
  value: unknown;
  label: string;
  onShow(path: JsonPath): void;
}

function Search({ value, label, onShow }: SearchProps) {
  const [query, setQuery] = useState('');
  const [found, setFound] = useState<SearchResult>();
  const [at, setAt] = useState(0);
  const show = useRef(onShow);
  show.current = onShow;
  useEffect(() => {
    setFound(undefined);
    if (query === '') return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      searchJson(value, query, { signal: stop.signal }).then(
        (result) => {
          setFound(result);
          setAt(0);
          if (result.hits[0]) show.current(result.hits[0]);
        },
        () => {},
      );
    }, SEARCH_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [value, query]);
  const step = (by: number): void => {
    const hits = found?.hits ?? [];
    if (hits.length === 0) return;
    const next = (at + by + hits.length) % hits.length;
    setAt(next);
    onShow(hits[next] as JsonPath);
  };
  return (
    <search className="flex items-center gap-2">
      <input
        type="search"
        aria-label={`Search in: ${label}`}
        placeholder="Search"
        className="w-40 rounded border border-line bg-panel px-2 py-0.5"
        value={query}
        onChange={({ target }) => setQuery(target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          step(event.shiftKey ? -1 : 1);
        }}
      />
      <span role="status" className="text-xs text-muted">
        {found && countOf(found, at)}
      </span>
      {found && found.hits.length > 1 && (
        <Button small onClick={() => step(1)}>
          Next
        </Button>
      )}
    </search>
  );
}

const SEARCH_MS = 150;

function countOf({ hits, isCut }: SearchResult, at: number): string {
  if (hits.length === 0) return 'Not found';
  return `${at + 1} of ${hits.length}${isCut ? ' or more' : ''}`;
}
