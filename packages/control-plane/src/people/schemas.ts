import { z } from 'zod';
import { ROLES } from '../roles.ts';

/** As it is kept and compared: without space around it, in small letters. */
export const Email = z.string().trim().toLowerCase().max(254).pipe(z.email());

/** Of a person, an organisation, an installation, a token. */
export const Name = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .regex(/^\P{Cc}+$/u, 'A name has no control characters.');

/** One that is chosen; one that is typed in may be older than the rule. */
export const NewPassword = z.string().min(12).max(256);
export const GivenPassword = z.string().min(1).max(256);

export const RoleName = z.enum(ROLES);

export const OrganizationAnswer = z.object({
  id: z.string(),
  slug: z.string(),
  name: z.string(),
  role: RoleName,
  createdAt: z.iso.datetime(),
});

export const MeAnswer = z.object({
  user: z.object({ id: z.string(), email: z.string(), name: z.string() }),
  /** The one that is acted in. */
  organization: OrganizationAnswer.nullable(),
  /** Those the credential reaches. */
  organizations: z.array(OrganizationAnswer),
  via: z.enum(['session', 'cli', 'token']),
  endpoint: z.string(),
});
export type Me = z.infer<typeof MeAnswer>;
