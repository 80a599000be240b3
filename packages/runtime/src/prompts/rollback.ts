/**
 * The version that was in force before the one that is, by the versions that were published, oldest first. Whoever goes
 * back goes further back the next time: a return to the version before is taken as the end of the one after it.
 * Undefined: there was none before.
 */
export function findBefore(published: readonly number[]): number | undefined {
  const stack: number[] = [];
  for (const version of published) {
    if (stack.at(-2) === version) stack.pop();
    else if (stack.at(-1) !== version) stack.push(version);
  }
  return stack.at(-2);
}
