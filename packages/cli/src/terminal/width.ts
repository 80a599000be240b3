import stringWidth from 'string-width';

/** How many cells of a terminal a text takes. */
export function textWidth(text: string): number {
  return stringWidth(text);
}

/** At most that many cells: where something is left out, the mark says so. */
export function shorten(text: string, width: number, mark: string): string {
  if (textWidth(text) <= width) return text;
  let kept = '';
  let room = width - mark.length;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    room -= textWidth(segment);
    if (room < 0) break;
    kept += segment;
  }
  return (kept + mark).slice(0, width);
}
