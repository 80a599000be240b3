import type { Context } from '../../context.ts';
import { toPlainText } from '../../terminal/style.ts';
import type { Decision, Pause } from './events.ts';

/** Asks the person about each call that waits, in turn. */
export async function decideAll(pauses: readonly Pause[], context: Context): Promise<Decision[]> {
  const decisions: Decision[] = [];
  for (const pause of pauses) {
    context.say('');
    context.say(toPlainText(pause.message));
    if (!pause.isShown) context.say(toPlainText(`  ${pause.tool} ${JSON.stringify(pause.arguments)}`));
    decisions.push({ interruptId: pause.id, status: 'resolved', payload: await decide(pause, context) });
  }
  return decisions;
}

// --- internal ---

/** What people type at a question. */
const ANSWERS: Partial<Record<string, string>> = { y: 'approve', yes: 'approve', n: 'reject', no: 'reject' };

async function decide({ allow }: Pause, context: Context): Promise<Decision['payload']> {
  const question = `${allow.map((word) => `[${word.slice(0, 1)}]${word.slice(1)}`).join(', ')}: `;
  for (;;) {
    const typed = (await context.ask(question)).trim().toLowerCase();
    const meant = ANSWERS[typed] ?? typed;
    const decision = allow.find((word) => meant !== '' && word.startsWith(meant));
    if (decision === 'edit') return { decision, input: await readArguments(context) };
    if (decision === 'reject') return { decision, ...(await readNote(context)) };
    if (decision !== undefined) return { decision };
    context.say(`Type one of: ${allow.join(', ')}.`);
  }
}

async function readArguments(context: Context): Promise<unknown> {
  for (;;) {
    const typed = await context.ask('Arguments, as JSON: ');
    try {
      return JSON.parse(typed) as unknown;
    } catch (error) {
      context.say(`That is not JSON: ${(error as Error).message}.`);
    }
  }
}

async function readNote(context: Context): Promise<{ note?: string }> {
  const note = (await context.ask('Why? The agent is given it; may be empty: ')).trim();
  return note === '' ? {} : { note };
}
