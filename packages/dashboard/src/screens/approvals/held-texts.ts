export interface HeldText {
  label: string;
  /** As it is, or as JSON. */
  text: string;
}

/** What the approval of a text shows of it, in the order in which it is read. `isCut`: its run has more. */
export function toHeldTexts(payload: unknown): { texts: HeldText[]; isCut: boolean } {
  // One that a model may not read yet, or of a kind this page does not know.
  if (typeof payload !== 'object' || payload === null) return { texts: [toText('Text', payload)], isCut: false };
  const { cut, ...members } = payload as Record<string, unknown>;
  const known = Object.keys(LABELS).filter((name) => name in members && !isNothing(members[name]));
  const others = Object.keys(members).filter((name) => !(name in LABELS) && !NAMES.has(name));
  return { texts: [...known, ...others].flatMap((name) => toParts(name, members[name])), isCut: isSome(cut) };
}

// --- internal ---

/** Whose text it is: the title says so. */
const NAMES = new Set(['agent', 'workflow']);

const LABELS: Readonly<Record<string, string>> = {
  input: 'Input',
  system: 'System text',
  messages: 'Messages',
  call: 'Call',
  result: 'Result',
  said: 'Said before',
  reasoning: 'Thought',
  text: 'What it would say',
  calls: 'Calls behind it',
};

/** Each message, and each system text, for itself. */
function toParts(name: string, value: unknown): HeldText[] {
  const label = LABELS[name] ?? name;
  if (!Array.isArray(value) || name === 'calls') return [toText(label, value)];
  return value.map((part: unknown) => {
    const { role, text } = (part ?? {}) as { role?: unknown; text?: unknown };
    return typeof role === 'string' && typeof text === 'string'
      ? { label: `Message, ${role}`, text }
      : toText(label, part);
  });
}

function toText(label: string, value: unknown): HeldText {
  return { label, text: typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null') };
}

function isNothing(value: unknown): boolean {
  return value === '' || (Array.isArray(value) && value.length === 0);
}

function isSome(cut: unknown): boolean {
  return Array.isArray(cut) && cut.length > 0;
}
