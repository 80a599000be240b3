import type { ComponentType } from 'react';
import { isHeld } from '../../../runtime/src/auth/permissions.ts';
import type { Permission, Role } from '../../../runtime/src/auth/permissions.ts';
import type { Bootstrap } from './bootstrap.ts';

export type ScreenGroup = 'watch' | 'work' | 'manage';

/** A screen: the one entry that the routes, the sidebar, the palette and its permission are made of. */
export interface Screen {
  id: string;
  /** Below `/studio`; `$name` is a parameter. */
  path: string;
  title: string;
  /** Its place in the sidebar. Undefined: it is reached from another one. */
  group?: ScreenGroup;
  /** What a person must hold to see it. */
  permission: Permission;
  /** Where it is shown. Undefined: wherever the dashboard is served. */
  places?: readonly Bootstrap['place'][];
  /** The tag of its operations. */
  tag: string;
  /** The member of the address that opens one of what it lists; an item with a page of its own has a screen. */
  item?: string;
  load(): Promise<{ default: ComponentType }>;
}

/** Where a person looks, and as what. */
export interface Seat {
  place: Bootstrap['place'];
  role: Role;
}

export function toSeat({ place, caller: { role } }: Pick<Bootstrap, 'place' | 'caller'>): Seat {
  return { place, role };
}

/** Whether there is such a screen here. */
export function isPlaced({ places }: Screen, { place }: Seat): boolean {
  return places?.includes(place) ?? true;
}

/** Whether it is here, and the person may see it. */
export function isOpenTo(screen: Screen, seat: Seat): boolean {
  return isPlaced(screen, seat) && isHeld(screen.permission, seat.role);
}

/** In the order of the sidebar. */
export const SCREENS: readonly Screen[] = [
  {
    id: 'overview',
    path: '/',
    title: 'Overview',
    group: 'watch',
    permission: 'runs:read',
    tag: 'runs',
    load: () => import('../screens/overview/overview.tsx'),
  },
  {
    id: 'runs',
    path: '/runs',
    title: 'Runs',
    group: 'watch',
    permission: 'runs:read',
    tag: 'runs',
    load: () => import('../screens/runs/runs.tsx'),
  },
  {
    id: 'run',
    path: '/runs/$id',
    title: 'Run',
    permission: 'runs:read',
    tag: 'runs',
    load: () => import('../screens/run/run.tsx'),
  },
  {
    id: 'approvals',
    path: '/approvals',
    title: 'Approvals',
    group: 'watch',
    permission: 'hitl:read',
    tag: 'approvals',
    item: 'open',
    load: () => import('../screens/approvals/approvals.tsx'),
  },
  {
    id: 'sessions',
    path: '/sessions',
    title: 'Sessions',
    group: 'watch',
    permission: 'sessions:read',
    tag: 'sessions',
    load: () => import('../screens/sessions/sessions.tsx'),
  },
  {
    id: 'session',
    path: '/sessions/$id',
    title: 'Session',
    permission: 'sessions:read',
    tag: 'sessions',
    load: () => import('../screens/sessions/session.tsx'),
  },
  {
    id: 'memory',
    path: '/memory',
    title: 'Memory',
    group: 'watch',
    permission: 'sessions:read',
    tag: 'sessions',
    load: () => import('../screens/memory/memory.tsx'),
  },
  {
    id: 'logs',
    path: '/logs',
    title: 'Logs',
    group: 'watch',
    permission: 'logs:read',
    tag: 'logs',
    item: 'run',
    load: () => import('../screens/logs/logs.tsx'),
  },
  {
    id: 'usage',
    path: '/usage',
    title: 'Usage',
    group: 'watch',
    permission: 'keys:read',
    tag: 'usage',
    load: () => import('../screens/usage/usage.tsx'),
  },
  {
    id: 'playground',
    path: '/playground',
    title: 'Playground',
    group: 'work',
    permission: 'agents:chat',
    tag: 'agents',
    item: 'agent',
    load: () => import('../screens/playground/playground.tsx'),
  },
  {
    id: 'workflows',
    path: '/workflows',
    title: 'Workflows',
    group: 'work',
    permission: 'catalog:read',
    tag: 'workflows',
    load: () => import('../screens/workflows/workflows.tsx'),
  },
  {
    id: 'workflow',
    path: '/workflows/$name',
    title: 'Workflow',
    permission: 'catalog:read',
    tag: 'workflows',
    load: () => import('../screens/workflow/workflow.tsx'),
  },
  {
    id: 'jobs',
    path: '/jobs',
    title: 'Recurring jobs',
    group: 'work',
    permission: 'catalog:read',
    tag: 'jobs',
    item: 'job',
    load: () => import('../screens/jobs/jobs.tsx'),
  },
  {
    id: 'prompts',
    path: '/prompts',
    title: 'Prompts',
    group: 'work',
    permission: 'config:write',
    tag: 'prompts',
    load: () => import('../screens/prompts/prompts.tsx'),
  },
  {
    id: 'prompt',
    path: '/prompts/$id',
    title: 'Prompt',
    permission: 'config:write',
    tag: 'prompts',
    load: () => import('../screens/prompt/prompt.tsx'),
  },
  {
    id: 'knowledge',
    path: '/knowledge',
    title: 'Knowledge',
    group: 'work',
    permission: 'rag:read',
    tag: 'rag',
    load: () => import('../screens/knowledge/knowledge.tsx'),
  },
  {
    id: 'collection',
    path: '/knowledge/$name',
    title: 'Collection',
    permission: 'rag:read',
    tag: 'rag',
    load: () => import('../screens/collection/collection.tsx'),
  },
  {
    id: 'guardrails',
    path: '/guardrails',
    title: 'Guardrails',
    group: 'work',
    permission: 'guardrails:read',
    tag: 'guardrails',
    item: 'rule',
    load: () => import('../screens/guardrails/guardrails.tsx'),
  },
  {
    id: 'evals',
    path: '/evals',
    title: 'Evals',
    group: 'work',
    permission: 'evals:read',
    tag: 'evals',
    load: () => import('../screens/evals/evals.tsx'),
  },
  {
    id: 'eval-suite',
    path: '/evals/suites/$name',
    title: 'Eval suite',
    permission: 'evals:read',
    tag: 'evals',
    load: () => import('../screens/eval-suite/eval-suite.tsx'),
  },
  {
    id: 'eval-run',
    path: '/evals/runs/$id',
    title: 'Eval run',
    permission: 'evals:read',
    tag: 'evals',
    load: () => import('../screens/eval-run/eval-run.tsx'),
  },
  {
    id: 'catalog',
    path: '/catalog',
    title: 'Catalog',
    group: 'manage',
    permission: 'catalog:read',
    tag: 'catalog',
    item: 'open',
    load: () => import('../screens/catalog/catalog.tsx'),
  },
  {
    id: 'database',
    path: '/database',
    title: 'Database',
    group: 'manage',
    permission: 'database:read',
    tag: 'database',
    item: 'table',
    load: () => import('../screens/database/database.tsx'),
  },
  {
    id: 'storage',
    path: '/storage',
    title: 'Storage',
    group: 'manage',
    permission: 'storage:read',
    tag: 'storage',
    item: 'object',
    load: () => import('../screens/storage/storage.tsx'),
  },
  {
    id: 'config',
    path: '/config',
    title: 'Config',
    group: 'manage',
    permission: 'config:read',
    tag: 'config',
    item: 'key',
    load: () => import('../screens/config/config.tsx'),
  },
  {
    id: 'secrets',
    path: '/secrets',
    title: 'Secrets',
    group: 'manage',
    permission: 'secrets:read',
    tag: 'secrets',
    load: () => import('../screens/secrets/secrets.tsx'),
  },
  {
    id: 'connections',
    path: '/connections',
    title: 'Connections',
    group: 'manage',
    permission: 'connections:read',
    tag: 'connections',
    load: () => import('../screens/connections/connections.tsx'),
  },
  {
    id: 'connection',
    path: '/connections/$id',
    title: 'Connection',
    permission: 'connections:read',
    tag: 'connections',
    load: () => import('../screens/connection/connection.tsx'),
  },
  {
    id: 'triggers',
    path: '/triggers',
    title: 'Triggers',
    group: 'manage',
    permission: 'triggers:read',
    tag: 'triggers',
    load: () => import('../screens/triggers/triggers.tsx'),
  },
  {
    id: 'trigger',
    path: '/triggers/$id',
    title: 'Trigger',
    permission: 'triggers:read',
    tag: 'triggers',
    load: () => import('../screens/trigger/trigger.tsx'),
  },
  {
    id: 'keys',
    path: '/keys',
    title: 'API keys',
    group: 'manage',
    permission: 'keys:read',
    tag: 'keys',
    load: () => import('../screens/keys/keys.tsx'),
  },
  {
    id: 'notify',
    path: '/notify',
    title: 'Notifications',
    group: 'manage',
    permission: 'settings:read',
    tag: 'notify',
    load: () => import('../screens/notify/notify.tsx'),
  },
  {
    id: 'members',
    path: '/members',
    title: 'Members',
    group: 'manage',
    // Every role: who is in an organisation is no secret of those in it.
    permission: 'services:read',
    places: ['full'],
    tag: 'organizations',
    load: () => import('../screens/members/members.tsx'),
  },
  {
    id: 'activity',
    path: '/activity',
    title: 'Activity',
    group: 'manage',
    permission: 'activity:read',
    tag: 'activity',
    item: 'entry',
    load: () => import('../screens/activity/activity.tsx'),
  },
  {
    id: 'settings',
    path: '/settings',
    title: 'Settings',
    group: 'manage',
    permission: 'settings:read',
    tag: 'settings',
    load: () => import('../screens/settings/settings.tsx'),
  },
  {
    id: 'setup',
    path: '/setup',
    title: 'Setup',
    group: 'manage',
    permission: 'settings:read',
    tag: 'settings',
    load: () => import('../screens/setup/setup.tsx'),
  },
  {
    id: 'health',
    path: '/health',
    title: 'Health',
    group: 'manage',
    permission: 'services:read',
    tag: 'health',
    load: () => import('../screens/health/health.tsx'),
  },
];
