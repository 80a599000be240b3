/** What a person has chosen; `system` follows the machine. */
export type Theme = 'light' | 'dark' | 'system';

const KEY = 'svc.theme';
const DARK = matchMedia('(prefers-color-scheme: dark)');

export function readTheme(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === 'light' || kept === 'dark' ? kept : 'system';
}

export function setTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme);
  applyTheme();
}

/** Puts it in force, and keeps it in step with the machine. */
export function startTheme(): void {
  applyTheme();
  DARK.addEventListener('change', applyTheme);
}

// --- internal ---

function applyTheme(): void {
  const theme = readTheme();
  document.documentElement.dataset.theme = theme === 'system' ? (DARK.matches ? 'dark' : 'light') : theme;
}
