import type { Operation } from './define.ts';

/** A capability of the box: its thing, and what callers can do with it. A line in `surface/rooms.ts` makes it a part of every box. */
export interface Room<Name extends string, Given, Made, Operations extends readonly Operation[]> {
  /** What handlers and other rooms reach it by. */
  name: Name;
  operations: Operations;
  /** Makes it of other rooms and of what each box has, by name; what is named here is made before. */
  create: (given: Given) => Made;
  /** Ends what it holds open: before what it was made of is closed. */
  close?(made: Made): Promise<unknown> | void;
}

/** What a room's folder exports. `Given` is written where `create` takes it, so a room imports only what it names. */
export function defineRoom<
  const Name extends string,
  Given,
  Made,
  const Operations extends readonly Operation[] = readonly [],
>(room: Room<Name, Given, Made, Operations>): Room<Name, Given, Made, Operations> {
  return room;
}
