import type { Style } from '../terminal/style.ts';
import { formatCard } from './card.ts';
import type { Row } from './row.ts';

/** A session, with what its agent keeps where it keeps something. */
export function formatSessionCard({ kept, ...session }: Row, style: Style): string {
  const isKept = Object.values(Object(kept) as object).some((one) => Object.keys(Object(one) as object).length > 0);
  return formatCard(isKept ? { ...session, kept } : session, style);
}
