import { Link as RouterLink } from '@tanstack/react-router';
import type { ReactNode } from 'react';

export interface LinkProps {
  /** Below `/studio`, with its parameters put in. */
  to: string;
  search?: Record<string, string | undefined>;
  className?: string;
  activeOptions?: { exact?: boolean; includeSearch?: boolean };
  children?: ReactNode;
  'aria-label'?: string;
}

export function Link({ to, search, className = 'text-accent underline', children, ...rest }: LinkProps) {
  return (
    <RouterLink {...rest} to={to as never} search={(search ?? {}) as never} className={className}>
      {children}
    </RouterLink>
  );
}
