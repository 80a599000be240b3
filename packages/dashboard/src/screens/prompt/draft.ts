import { useEffect, useState } from 'react';
import { useBox } from '../../app/box.ts';
import type { BoxContext } from '../../app/box.ts';

export interface Base {
  version: number;
  text: string;
}

export interface Draft {
  text: string;
  /** The version it is made of: the one it began with, or that was looked at since. */
  base: Base;
  /** Someone else has made another one meanwhile, of which the person has not said anything yet. */
  isBehind: boolean;
  write(text: string): void;
  /** The newest version is taken as its base; `text`: in place of what was written. */
  accept(text?: string): void;
}

/**
 * What a person writes of a prompt: it stays when a newer version comes, when another tab or screen is opened, and when the
 * page is reloaded. It is gone with the window.
 */
export function useDraft(id: string, latest: Base): Draft {
  const key = keyOf(useBox(), id);
  const [{ text, base }, setDraft] = useState(() => read(key) ?? { text: latest.text, base: latest });
  const newest = { version: latest.version, text: latest.text };
  const isBehind = newest.version !== base.version;
  // Nothing was written, or what was written is what it has become.
  const isCarried = isBehind && (text === base.text || text === newest.text);
  useEffect(() => {
    if (isCarried) setDraft({ text: newest.text, base: newest });
  }, [isCarried, newest.text]);
  useEffect(() => {
    if (text === base.text) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify({ text, base }));
  }, [key, text, base]);
  return {
    text,
    base,
    isBehind: isBehind && !isCarried,
    write: (next) => setDraft({ text: next, base }),
    accept: (next = text) => setDraft({ text: next, base: newest }),
  };
}

// --- internal ---

function keyOf({ bootstrap: { installation, name, caller } }: BoxContext, id: string): string {
  return `svc.prompt ${JSON.stringify([installation ?? name, caller.id, id])}`;
}

function read(key: string): { text: string; base: Base } | undefined {
  const text = sessionStorage.getItem(key);
  return text === null ? undefined : (JSON.parse(text) as { text: string; base: Base });
}
