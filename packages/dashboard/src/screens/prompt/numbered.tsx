import { useMemo } from 'react';
import type { ComponentProps } from 'react';
import { Textarea } from '../../ui/field.tsx';

/** Beyond so many lines they are not numbered: each has an element, and a key that is pressed goes by all of them. */
export const MOST_NUMBERED = 2_000;

/** A text that grows with what is in it, with the numbers of its lines beside it: a long line is one, however often it is broken. */
export function Numbered({ value, ...rest }: Omit<ComponentProps<typeof Textarea>, 'value'> & { value: string }) {
  const lines = useMemo(() => value.split('\n'), [value]);
  const isNumbered = lines.length <= MOST_NUMBERED;
  return (
    <div className="grid max-h-[70dvh] min-h-60 overflow-y-auto rounded border border-line bg-panel [counter-reset:line] focus-within:border-accent">
      {isNumbered && (
        <div aria-hidden className={`pointer-events-none pl-12 text-transparent select-none ${SHARED}`}>
          {lines.map((line, at) => (
            <div key={at} className={NUMBER}>
              {line === '' ? '\u200b' : line}
            </div>
          ))}
        </div>
      )}
      <Textarea
        {...rest}
        value={value}
        className={`resize-none overflow-hidden !rounded-none !border-0 !bg-transparent ${isNumbered ? '!pl-12' : ''} ${SHARED}`}
      />
    </div>
  );
}

// --- internal ---

/** What makes both break their lines at the same places. */
const SHARED =
  'col-start-1 row-start-1 min-w-0 px-2.5 py-1.5 font-mono text-sm leading-5 tracking-normal break-words whitespace-pre-wrap';

const NUMBER =
  'relative [counter-increment:line] before:absolute before:-left-10 before:w-7 before:text-right before:text-xs before:leading-5 before:text-muted before:content-[counter(line)]';
