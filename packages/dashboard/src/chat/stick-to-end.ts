import { useEffect, useRef } from 'react';
import type { RefObject } from 'react';

/** Keeps the end in sight while what it holds grows, unless the person has scrolled away from it. It has one child. */
export function useStickToEnd(): RefObject<HTMLDivElement | null> {
  const ref = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    const look = (): void => {
      isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
    };
    // What is out of sight takes its true room only once it is near.
    const growth = new ResizeObserver(() => {
      if (isAtEnd.current) element.scrollTop = element.scrollHeight;
    });
    element.addEventListener('scroll', look, { passive: true });
    growth.observe(element);
    if (element.firstElementChild) growth.observe(element.firstElementChild);
    return () => {
      element.removeEventListener('scroll', look);
      growth.disconnect();
    };
  }, []);
  return ref;
}

// --- internal ---

const NEAR = 60;
