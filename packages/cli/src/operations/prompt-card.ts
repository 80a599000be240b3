import { toPlainText } from '../terminal/style.ts';
import type { Style } from '../terminal/style.ts';
import { formatCard } from './card.ts';
import type { Row } from './row.ts';

/** A prompt with the text that is in force, and the latest where that is another. */
export function formatPromptCard({ published, latest, ...facts }: Row, style: Style): string {
  const texts = [
    ['published', published as Text | null],
    ['latest', latest as Text],
  ] as const;
  const isSame = (published as Text | null)?.version === (latest as Text).version;
  const sections = texts
    .filter(([label, text]) => text !== null && !(isSame && label === 'latest'))
    .map(([label, text]) => `\n${style.bold(`${label}, version ${text?.version}`)}\n${toPlainText(text?.text ?? '')}`);
  return [formatCard(facts, style), ...sections].join('\n');
}

// --- internal ---

interface Text {
  version: number;
  text: string;
}
