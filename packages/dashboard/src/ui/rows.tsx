import { useLayoutEffect, useRef, useState } from 'react';
import type { ComponentProps, ReactNode, Ref } from 'react';

export interface RowsProps extends Omit<ComponentProps<'div'>, 'children' | 'ref'> {
  count: number;
  /** Pixels. */
  rowHeight: number;
  /** The row at a place; it fills the room it is given. */
  children(index: number): ReactNode;
  /** Follows the end, for as long as the person is there. */
  follow?: boolean;
  handle?: Ref<HTMLDivElement>;
}

/** As many rows as are seen, whatever there are: each element shows another row when it is scrolled away. */
export function Rows({ count, rowHeight, children, follow = false, handle, className = '', ...rest }: RowsProps) {
  const own = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    const element = own.current as HTMLDivElement;
    if (typeof handle === 'object' && handle) handle.current = element;
    const measure = new ResizeObserver(() => setView({ top: element.scrollTop, height: element.clientHeight }));
    measure.observe(element);
    return () => measure.disconnect();
  }, [handle]);
  useLayoutEffect(() => {
    const element = own.current;
    if (follow && isAtEnd.current && element) element.scrollTop = element.scrollHeight;
  }, [follow, count]);
  const pool = Math.ceil(view.height / rowHeight) + 2 * OVERSCAN;
  const first = Math.max(0, Math.min(Math.floor(view.top / rowHeight) - OVERSCAN, count - pool));
  const shown = Array.from({ length: Math.min(pool, count) }, (_, i) => first + i);
  return (
    <div
      {...rest}
      ref={own}
      className={`overflow-y-auto ${className}`}
      onScroll={({ currentTarget }) => {
        const { scrollTop, clientHeight, scrollHeight } = currentTarget;
        isAtEnd.current = scrollTop + clientHeight >= scrollHeight - rowHeight;
        setView({ top: scrollTop, height: clientHeight });
      }}
    >
      <div role="presentation" className="relative" style={{ height: count * rowHeight, contain: 'strict' }}>
        {shown.map((index) => (
          <div
            key={index % pool}
            role="presentation"
            className="absolute inset-x-0 top-0"
            style={{ height: rowHeight, transform: `translateY(${index * rowHeight}px)` }}
          >
            {children(index)}
          </div>
        ))}
      </div>
    </div>
  );
}

/** Moves a row into view. */
export function showRow(element: HTMLElement | null, index: number, rowHeight: number): void {
  if (!element) return;
  const top = index * rowHeight;
  if (top < element.scrollTop) element.scrollTop = top;
  else if (top + rowHeight > element.scrollTop + element.clientHeight)
    element.scrollTop = top + rowHeight - element.clientHeight;
}

// --- internal ---

const OVERSCAN = 6;
