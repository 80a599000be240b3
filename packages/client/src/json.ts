/** A value as JSON carries it: what is recorded as a Date arrives as its text. */
export type Json<T> = unknown extends T
  ? unknown
  : T extends string | number | boolean | null | undefined
    ? T
    : T extends bigint | Date | URL | RegExp
      ? string
      : T extends ReadonlyMap<infer K, infer V>
        ? [Json<K>, Json<V>][]
        : T extends ReadonlySet<infer V>
          ? Json<V>[]
          : T extends (...args: never[]) => unknown
            ? null
            : { [K in keyof T]: Json<T[K]> };

/** What a run answers, likewise; one that answers nothing is null. */
export type JsonOutput<T> = [T] extends [undefined | void] ? null : Json<T>;
