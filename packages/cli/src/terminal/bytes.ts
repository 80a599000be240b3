/** `0 B`, `12.3 kB`: in steps of 1,000. */
export function formatBytes(bytes: number): string {
  const step = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const value = bytes / 1_000 ** step;
  return `${step === 0 ? value : value.toFixed(1)} ${UNITS[step]}`;
}

// --- internal ---

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];
