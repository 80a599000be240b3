/** Characters of all ids together: an address may be some thousands long, and is not of these alone. */
const MOST = 1_200;

/** The ids that the address holds. */
export function readIds(text: string | undefined): ReadonlySet<string> {
  return new Set((text ?? '').split(',').filter(Boolean));
}

/** With or without one more, as the address holds them. Beyond what it has room for the one that came first is left out. */
export function writeIds(ids: ReadonlySet<string>, id: string, isIn: boolean): string | undefined {
  const next = [...ids].filter((one) => one !== id);
  if (isIn) next.push(id);
  let length = next.reduce((sum, one) => sum + one.length + 1, 0);
  while (length > MOST && next.length > 1) length -= (next.shift() ?? '').length + 1;
  return next.join(',') || undefined;
}
