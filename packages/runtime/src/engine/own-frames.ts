import { fileURLToPath } from 'node:url';

export interface Frame {
  file: string;
  row: string;
}

/** Where a line of a stack lies. Undefined: nowhere in a file. */
export function readFrame(line: string): Frame | undefined {
  const [, place = '', row = ''] = (line.length > LONGEST ? undefined : FRAME.exec(line)) ?? [];
  if (row === '') return undefined;
  return { file: place.startsWith('file:') ? fileURLToPath(place) : place, row };
}

/** One of the runtime, or of Node. */
export function isOwnFrame({ file }: Frame): boolean {
  return file.startsWith(OWN) || file.startsWith('node:');
}

// --- internal ---

const FRAME = /^\s+at .*?\(?([^()\s]+):(\d+):\d+\)?$/;
/** A longer line is text of a message. */
const LONGEST = 1_000;

/** The runtime's own files: in a bundle all of them lie in its folder. */
const OWN = fileURLToPath(new URL('.', import.meta.url)).replace(/engine[\\/]$/, '');
