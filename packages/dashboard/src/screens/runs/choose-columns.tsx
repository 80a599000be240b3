import { DropdownMenu } from 'radix-ui';
import { useMemo, useState } from 'react';
import { Button } from '../../ui/button.tsx';
import type { Column } from '../../ui/table.tsx';
import { COLUMNS, USUAL } from './columns.tsx';
import type { Run } from './columns.tsx';

/** The columns that the address says, or that this browser has chosen before. One that was asked for is there on any width. */
export function useColumns(cols: string | undefined, onChange: (cols: string | undefined) => void) {
  const [kept, setKept] = useState(readKept);
  const chosen = useMemo(() => toColumns(cols ?? kept), [cols, kept]);
  const choose = (next: string | undefined): void => {
    keep(next);
    setKept(next);
    onChange(next);
  };
  return { ...chosen, choose };
}

export function ChooseColumns({
  names,
  onChange,
}: {
  names: readonly string[];
  onChange(cols: string | undefined): void;
}) {
  const choose = (next: readonly string[] | undefined): void => {
    const cols =
      next &&
      Object.keys(COLUMNS)
        .filter((name) => next.includes(name))
        .join(',');
    onChange(cols);
  };
  return (
    // As in `Menu`: modal ones put a style into the page. Within the page, so that it is of its region.
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>
        <Button>Columns</Button>
      </DropdownMenu.Trigger>
      <DropdownMenu.Content
        align="end"
        sideOffset={4}
        className="z-40 min-w-44 rounded-lg border border-line bg-panel p-1 shadow-lg"
      >
        {Object.entries(COLUMNS).map(([name, { title }]) => (
          <DropdownMenu.CheckboxItem
            key={name}
            checked={names.includes(name)}
            disabled={name === 'run'}
            className={ITEM}
            // It stays open: one often chooses several.
            onSelect={(event) => event.preventDefault()}
            onCheckedChange={(isOn) => choose(isOn ? [...names, name] : names.filter((one) => one !== name))}
          >
            <span aria-hidden className="inline-block w-5">
              {names.includes(name) ? '✓' : ''}
            </span>
            {title}
          </DropdownMenu.CheckboxItem>
        ))}
        <DropdownMenu.Separator className="my-1 border-t border-line" />
        <DropdownMenu.Item className={ITEM} onSelect={() => choose(undefined)}>
          The usual ones
        </DropdownMenu.Item>
      </DropdownMenu.Content>
    </DropdownMenu.Root>
  );
}

// --- internal ---

const ITEM = 'rounded px-2.5 py-1 outline-none data-[disabled]:opacity-60 data-[highlighted]:bg-raised';

const KEY = 'svc.runs.columns';

interface ChosenColumns {
  /** Their names, in order. */
  names: readonly string[];
  columns: Column<Run>[];
}

function toColumns(asked: string | undefined): ChosenColumns {
  const known = asked?.split(',').filter((name) => name in COLUMNS) ?? [];
  const isChosen = known.length > 0;
  const wanted = new Set(isChosen ? ['run', ...known] : USUAL);
  const entries = Object.entries(COLUMNS).filter(([name]) => wanted.has(name));
  return {
    names: entries.map(([name]) => name),
    columns: entries.map(([, column]) => (isChosen ? { ...column, wide: false } : column)),
  };
}

function readKept(): string | undefined {
  return localStorage.getItem(KEY) ?? undefined;
}

function keep(cols: string | undefined): void {
  if (cols === undefined) localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, cols);
}
