/** What is made after the code that calls it. Read too early it throws: that is a mistake of ours. */
export interface Late<T> {
  set(value: T): void;
  get(): T;
}

export function createLate<T>(what: string): Late<T> {
  let made: { value: T } | undefined;
  return {
    set(value) {
      made = { value };
    },
    get() {
      if (!made) throw new Error(`The box asks for ${what} before there is one.`);
      return made.value;
    },
  };
}
