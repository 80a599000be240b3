/** Throws a sentence on a member that is not known: a slip in its name would go unseen. */
export function checkMembers(what: string, given: object, known: readonly string[]): void {
  const other = Object.keys(given).find((member) => !known.includes(member));
  if (other !== undefined)
    throw new TypeError(`"${other}" is no member of ${what}. The members are: ${known.join(', ')}.`);
}

/** What the check throws is said to be about that. */
export function checkPart<T>(what: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw new TypeError(`${what}: ${(error as Error).message}`, { cause: error });
  }
}
