import { useEffect, useRef, useState } from 'react';
import type { PointerEvent } from 'react';
import { useChange } from '../../api/queries.ts';
import type { Rule } from './rule.ts';

/** Where a rule that is dragged would come to stand. */
interface Dragged {
  id: string;
  name: string;
  /** Its place among those that can be moved, from 0. */
  to: number;
}

/** Moves rules that data makes, by buttons or by their handles, and says for those who do not see it where they stand now. */
export function useOrder(rules: readonly Rule[]) {
  const order = useChange('guardrails.order');
  const [dragged, setDragged] = useState<Dragged>();
  const [said, setSaid] = useState('');
  const pressed = useRef<string>(undefined);
  const ids = rules.filter(({ origin }) => origin === 'api').map(({ id }) => id);
  const declared = rules.length - ids.length;
  const placeOf = ({ id }: { id: string }) => ids.indexOf(id);
  const moveTo = (rule: { id: string; name: string }, to: number) => {
    const from = placeOf(rule);
    if (order.isPending || to === from || to < 0 || to >= ids.length) return;
    const next = ids.toSpliced(from, 1).toSpliced(to, 0, rule.id);
    setSaid('');
    order.mutate(
      { ids: next },
      { onSuccess: () => setSaid(`${rule.name} is asked as number ${declared + to + 1} of ${rules.length}.`) },
    );
  };
  // A row that is moved loses the focus of its buttons.
  const inOrder = ids.join();
  useEffect(() => {
    if (pressed.current === undefined) return;
    const [way = '', id = ''] = pressed.current.split(' ');
    const find = (of: string) => document.getElementById(`${of}-${id}`) as HTMLButtonElement | null;
    const button = [find(way), find('earlier'), find('later')].find((one) => one?.disabled === false);
    button?.focus();
    pressed.current = undefined;
  }, [inOrder]);
  const placeAt = (rule: Rule, { currentTarget, clientY }: PointerEvent<HTMLElement>): number => {
    const rows = [...(currentTarget.closest('tbody')?.rows ?? [])].slice(declared);
    const above = rows.filter((row) => clientY > middleOf(row)).length;
    // Its own row counts where it is dragged down.
    return above - (above > placeOf(rule) ? 1 : 0);
  };
  const drag = (rule: Rule, event: PointerEvent<HTMLElement>) =>
    setDragged({ id: rule.id, name: rule.name, to: placeAt(rule, event) });
  // Where it is released: what has moved it there may not be shown yet.
  const drop = (rule: Rule, event: PointerEvent<HTMLElement>) => {
    if (dragged?.id === rule.id) moveTo(rule, placeAt(rule, event));
    setDragged(undefined);
  };
  return {
    error: order.error,
    said,
    isFirst: (rule: Rule) => placeOf(rule) === 0,
    isLast: (rule: Rule) => placeOf(rule) === ids.length - 1,
    /** What a press of a button does. */
    press(rule: Rule, way: 'earlier' | 'later') {
      pressed.current = `${way} ${rule.id}`;
      moveTo(rule, placeOf(rule) + (way === 'earlier' ? -1 : 1));
    },
    /** Of the place of a row, by which it is dragged. */
    handleOf: (rule: Rule) => ({
      onPointerDown(event: PointerEvent<HTMLElement>) {
        if (event.button !== 0) return;
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        setDragged({ id: rule.id, name: rule.name, to: placeOf(rule) });
      },
      onPointerMove: (event: PointerEvent<HTMLElement>) => dragged?.id === rule.id && drag(rule, event),
      onPointerUp: (event: PointerEvent<HTMLElement>) => drop(rule, event),
      onPointerCancel: () => setDragged(undefined),
    }),
    markOf(rule: Rule) {
      if (!dragged) return undefined;
      if (rule.id === dragged.id) return 'moved' as const;
      const from = ids.indexOf(dragged.id);
      if (dragged.to === from || placeOf(rule) !== dragged.to) return undefined;
      return dragged.to < from ? ('above' as const) : ('below' as const);
    },
  };
}

// --- internal ---

function middleOf(row: HTMLElement): number {
  const { top, height } = row.getBoundingClientRect();
  return top + height / 2;
}
