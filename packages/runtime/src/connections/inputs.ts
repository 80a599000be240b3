import { z } from 'zod';
import { StorableText } from '../operations/inputs.ts';
import { AUTH_KINDS, TOKEN_AUTHS } from './providers.ts';

export const word = StorableText.min(1).max(500);

const address = (what: string) => z.string().min(1).max(2_000).optional().describe(what);

/** What a connection is declared with, besides its id. */
export const CONNECTION_MEMBERS = {
  provider: z.string().max(100).describe('The service: an id of connections.providers, or "custom"'),
  auth: z
    .enum(AUTH_KINDS)
    .optional()
    .describe('How the service knows its callers. Default: as connections.providers says'),
  per: z
    .enum(['box', 'user'])
    .default('box')
    .describe('Whose credential calls are made with: one of the box, or that of the end user of the run'),
  title: StorableText.max(200).optional(),
  baseUrl: address('What paths are relative to'),
  origins: z.array(z.string().max(500)).max(20).optional().describe('Further origins that may be sent the credential'),
  authorizationUrl: address('Where a person signs in, of a service that is not known'),
  tokenUrl: address('Where tokens come from, likewise'),
  revocationUrl: address('Where tokens are revoked when the connection is deleted, as RFC 7009 defines it, likewise'),
  clientId: word
    .optional()
    .describe('What the service calls this box. Its secret is sent with connections.set_credential'),
  scopes: z.array(word).max(100).optional(),
  tokenAuth: z
    .enum(TOKEN_AUTHS)
    .optional()
    .describe('How the client says who it is at tokenUrl; "none": it has no secret'),
  params: z
    .record(z.string().max(100), word)
    .refine((params) => Object.keys(params).length <= 20, 'At most 20')
    .optional()
    .describe('Further parameters of the sign-in page'),
  header: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,100}$/, 'A header has letters, digits and "-"')
    .optional()
    .describe('Where a key is put. Default: authorization'),
  prefix: z
    .string()
    .regex(/^[\u0020-\u007e]{0,50}$/, 'At most 50 characters of ASCII')
    .optional()
    .describe('What comes before the key. Default: "Bearer "'),
};
