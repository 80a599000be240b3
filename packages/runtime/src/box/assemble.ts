import type { Operation } from '../operations/define.ts';
import type { Room } from '../operations/room.ts';
import type { Closer } from './closer.ts';

/** What a box is made of, beside what each has from its host: rooms, and parts without operations. */
export type Part<Given, Name extends string = string, Made = unknown> = Omit<
  Room<Name, Given, Made, readonly Operation[]>,
  'operations'
>;

/**
 * Makes every part, each before the first that asks for it by name. So each is closed after all that were made of it, in
 * whatever order they are listed.
 */
export function assemble<Given extends object>(
  ground: object,
  parts: readonly Part<Given>[],
  closer: Pick<Closer, 'add'>,
): Given {
  const given = { ...ground } as Given;
  const making: string[] = [];
  for (const part of parts) {
    const { name } = part;
    if (name in given) throw new Error(`Two parts of the box are named "${name}".`);
    const make = (): unknown => {
      if (making.includes(name))
        throw new Error(`A part of the box is made of itself: ${[...making, name].join(' -> ')}.`);
      making.push(name);
      const made = part.create(given);
      making.pop();
      closer.add(async () => part.close?.(made));
      Object.defineProperty(given, name, { value: made, enumerable: true });
      return made;
    };
    Object.defineProperty(given, name, { get: make, enumerable: true, configurable: true });
  }
  for (const { name } of parts) Reflect.get(given, name);
  return given;
}
