/** A month of UTC: `2026-11`. */
export type Month = string;

/** The month of a moment and those before it, the newest first. */
export function listMonths(now: number, count: number): Month[] {
  const date = new Date(now);
  return Array.from({ length: count }, (_, back) =>
    new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - back, 1)).toISOString().slice(0, 7),
  );
}

/** `November 2026`. */
export function toMonthName(month: Month): string {
  return NAME.format(new Date(`${month}-01T00:00:00Z`));
}

/** Its days, `2026-11-01` first. */
export function listDays(month: Month): string[] {
  const [year = 0, number = 1] = month.split('-').map(Number);
  const count = new Date(Date.UTC(year, number, 0)).getUTCDate();
  return Array.from({ length: count }, (_, i) => `${month}-${String(i + 1).padStart(2, '0')}`);
}

/** From its first moment to the first of the next one. */
export function toSpan(month: Month): { from: string; to: string } {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return { from: `${month}-01T00:00:00.000Z`, to: new Date(Date.UTC(year, number, 1)).toISOString() };
}

// --- internal ---

const NAME = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' });
