import { useState } from 'react';
import { readTheme, setTheme } from './theme.ts';
import type { Theme } from './theme.ts';

const NEXT: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' };
const WORDS: Record<Theme, string> = { system: 'Auto', light: 'Light', dark: 'Dark' };

export function ThemeButton() {
  const [theme, setShown] = useState(readTheme);
  return (
    <button
      type="button"
      className="rounded border border-line px-2 py-0.5 hover:bg-raised"
      aria-label={`Colours: ${WORDS[theme]}. Change to ${WORDS[NEXT[theme]]}`}
      onClick={() => {
        setTheme(NEXT[theme]);
        setShown(NEXT[theme]);
      }}
    >
      {WORDS[theme]}
    </button>
  );
}
