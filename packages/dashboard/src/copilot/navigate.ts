import { isOpenTo, isPlaced, SCREENS } from '../app/screens.ts';
import type { Screen, Seat } from '../app/screens.ts';

/** The name of the tool of this page. */
export const NAVIGATE = 'navigate';

/** The tool, as each message brings it. */
export const toTool = (seat: Seat) => ({
  name: NAVIGATE,
  description:
    'Open a screen of the dashboard for the person, and optionally one item on it. Answers {ok: true}, or {refused: true} with the reason.',
  parameters: {
    type: 'object',
    properties: {
      screen: { type: 'string', description: `One of ${listPlaced(seat)}` },
      item: {
        type: 'string',
        description:
          'What is opened there, by its id or name: a run, a session, a workflow, a prompt, an approval, a recurring job, a guardrail, a collection, a connection, a trigger, an entry of the activity, a config key, a table of the database, the key of an object in the storage; in the logs a run; in the playground an agent; in the catalog "agent/NAME" or "workflow/NAME"',
      },
    },
    required: ['screen'],
    additionalProperties: false,
  },
});

export interface Place {
  to: string;
  search: Record<string, string>;
  title: string;
}

export interface Refusal {
  refused: true;
  reason: string;
}

/** Where the arguments of the tool lead, by the table of screens. */
export function toPlace(args: unknown, seat: Seat): Place | Refusal {
  const { screen: id, item } = (args ?? {}) as { screen?: unknown; item?: unknown };
  const named = SCREENS.find((each) => each.id === id && isPlaced(each, seat));
  if (!named) return refuse(`There is no screen "${String(id).slice(0, 100)}". ${listOpen(seat)}`);
  if (item !== undefined && (typeof item !== 'string' || item === '' || item.length > MOST_ITEM))
    return refuse(`"item" must be a text of 1 to ${MOST_ITEM} characters.`);
  const screen = (item !== undefined && findDetail(named)) || named;
  if (!isOpenTo(screen, seat))
    return refuse(
      `"${screen.title}" is not open to the role "${seat.role}": it needs ${screen.permission}. ${listOpen(seat)}`,
    );
  const [name] = /\$\w+/.exec(screen.path) ?? [];
  if (name !== undefined) {
    if (item === undefined) return refuse(`"${screen.title}" shows one item: say which with "item".`);
    return { to: screen.path.replace(name, encodeURIComponent(item)), search: {}, title: screen.title };
  }
  if (item === undefined) return { to: screen.path, search: {}, title: screen.title };
  if (screen.item === undefined) return refuse(`"${screen.title}" opens no single item. ${listBelow(screen)}`);
  return { to: screen.path, search: { [screen.item]: item }, title: screen.title };
}

// --- internal ---

const MOST_ITEM = 256;

function refuse(reason: string): Refusal {
  return { refused: true, reason };
}

function listPlaced(seat: Seat): string {
  return SCREENS.filter((screen) => isPlaced(screen, seat))
    .map(({ id }) => id)
    .join(', ');
}

function listOpen(seat: Seat): string {
  const open = SCREENS.filter((screen) => isOpenTo(screen, seat));
  return `Open to them: ${open.map(({ id }) => id).join(', ')}.`;
}

/** Where it lists things of several kinds, each has a screen. */
function listBelow({ path }: Screen): string {
  const below = SCREENS.filter((each) => each.path.startsWith(`${path}/`)).map(({ id }) => id);
  return below.length > 0 ? `One is opened on ${below.join(' or ')}.` : 'Leave "item" out.';
}

/** The screen of one item of a list. */
function findDetail({ path }: Screen): Screen | undefined {
  return SCREENS.find((each) => each.path.startsWith(`${path}/$`));
}
