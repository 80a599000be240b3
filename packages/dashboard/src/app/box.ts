import { createContext, use } from 'react';
import type { Client } from '@svc/runtime/client';
import { isHeld } from '../../../runtime/src/auth/permissions.ts';
import type { Permission } from '../../../runtime/src/auth/permissions.ts';
import type { Bootstrap } from './bootstrap.ts';
import type { BoxEvents } from '../api/events.ts';
import type { Session } from '../api/session.ts';

/** The box that is shown, as every screen reaches it. */
export interface BoxContext {
  bootstrap: Bootstrap;
  client: Client;
  /** A request to a path of the box that is no operation, as the wires are. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  events: BoxEvents;
  session: Session;
}

export const Box = createContext<BoxContext | undefined>(undefined);

export function useBox(): BoxContext {
  const box = use(Box);
  if (!box) throw new Error('There is no box here.');
  return box;
}

/** Whether the person may, by the table the box itself asks. */
export function useMay(): (permission: Permission) => boolean {
  const { role } = useBox().bootstrap.caller;
  return (permission) => isHeld(permission, role);
}
