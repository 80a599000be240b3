import { useQueries } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useCall } from '../../api/queries.ts';
import { useBox, useMay } from '../box.ts';
import { isOpenTo, SCREENS, toSeat } from '../screens.ts';
import { rank } from './choice.ts';
import type { Choice } from './choice.ts';
import { FINDERS, readId } from './ids.ts';

export interface Choices {
  /** The best first. */
  items: Choice[];
  /** Whether the box is still asked: what comes may be better. */
  isLooking: boolean;
  error: unknown;
}

/** Where a text may lead: what has that id, what is called so, the newest runs of that name, and a search for it in all runs. */
export function useChoices(text: string): Choices {
  const wanted = text.trim();
  const settled = useSettled(wanted);
  const named = rank(useNamed(), wanted);
  const byId = useById(settled);
  const runs = useRunsOf(
    settled,
    named.filter(({ kind }) => kind === 'agent' || kind === 'workflow').map(({ title }) => title),
  );
  const isTyped = wanted !== '';
  return {
    items: [
      ...(settled === wanted ? byId.items : []),
      ...named.slice(0, isTyped ? MOST_NAMED : MOST_FIRST),
      ...(settled === wanted ? runs.items : []),
      ...(isTyped ? [toSearch(wanted)] : []),
    ],
    isLooking: settled !== wanted || byId.isLooking || runs.isLooking,
    error: byId.error ?? runs.error,
  };
}

// --- internal ---

/** What is made in a dialog of its screen, whose address opens it. */
const ACTIONS = [
  { title: 'New API key', to: '/keys', permission: 'keys:write' },
  { title: 'New secret', to: '/secrets', permission: 'secrets:write' },
] as const;

const MOST_FIRST = 60;
const MOST_NAMED = 12;
/** Of a name. */
const MOST_RUNS = 3;
const MOST_NAMES = 3;
const WAIT_MS = 150;

/** What the text is once nothing was typed for a moment; a whole id at once. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  const isWhole = readId(text)?.isWhole === true;
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), WAIT_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return isWhole ? text : settled;
}

/** Screens, workflows and agents: the box lists all of their names. */
function useNamed(): Choice[] {
  const may = useMay();
  const seat = toSeat(useBox().bootstrap);
  const names = useCall('discovery.get', {});
  return [
    ...SCREENS.filter((screen) => screen.group && isOpenTo(screen, seat)).map(({ id, title, path }) => ({
      id: `screen ${id}`,
      kind: 'screen',
      title,
      to: path,
    })),
    ...ACTIONS.filter(({ permission }) => may(permission)).map(({ title, to }) => ({
      id: `action ${title}`,
      kind: 'action',
      title,
      to,
      search: { create: '1' },
    })),
    ...(names.data?.workflows ?? []).map((name) => ({
      id: `workflow ${name}`,
      kind: 'workflow',
      title: name,
      to: `/workflows/${encodeURIComponent(name)}`,
    })),
    ...(names.data?.agents ?? []).map((name) => ({
      id: `agent ${name}`,
      kind: 'agent',
      title: name,
      ...(may('agents:chat')
        ? { to: '/playground', search: { agent: name } }
        : { to: '/catalog', search: { open: `agent/${name}` } }),
    })),
  ];
}

/** What has that id, or begins with it: each kind of thing is asked for beside the others. */
function useById(text: string): Choices {
  const { client } = useBox();
  const typed = readId(text);
  const asked = typed ? Object.entries(FINDERS[typed.form]) : [];
  const results = useQueries({
    queries: asked.map(([room, find]) => ({
      // Its room is that of the lists: an event makes it old as it does them.
      queryKey: [`${room === 'starts' ? 'runs' : room}.find`, typed],
      queryFn: ({ signal }: { signal: AbortSignal }) => (typed ? find(client, typed, signal) : []),
    })),
  });
  return {
    items: results.flatMap(({ data }) => data ?? []),
    isLooking: results.some(({ isFetching, data }) => isFetching && data === undefined),
    error: results.find(({ error }) => error)?.error,
  };
}

/** The newest runs of what is called so, also of what is there no more. */
function useRunsOf(text: string, names: readonly string[]): Choices {
  const { client } = useBox();
  const asked = text === '' || readId(text)?.isWhole ? [] : [...new Set([text, ...names.slice(0, MOST_NAMES)])];
  const results = useQueries({
    queries: asked.map((name) => ({
      queryKey: ['runs.list', { name, limit: MOST_RUNS }],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        client.call('runs.list', { name, limit: MOST_RUNS }, { signal }),
    })),
  });
  return {
    items: results.flatMap(({ data }) =>
      (data?.items ?? []).map(({ runId, name, status }) => ({
        id: `run ${runId}`,
        kind: `run, ${status}`,
        title: `${name} ${runId}`,
        to: `/runs/${runId}`,
      })),
    ),
    isLooking: results.some(({ isFetching, data }) => isFetching && data === undefined),
    error: results.find(({ error }) => error)?.error,
  };
}

function toSearch(text: string): Choice {
  return {
    id: 'search',
    kind: 'search',
    title: `Runs with “${text}” in their input or output`,
    to: '/runs',
    search: { has: text },
  };
}
