/** `12,500`, the same on every screen, whatever the language of the browser. */
export function toCount(count: number): string {
  return COUNT.format(count);
}

// --- internal ---

const COUNT = new Intl.NumberFormat('en');
