import { z } from 'zod';

/** What a person sends to decide an approval. */
export const Decision = z.strictObject({
  decision: z.enum(['approve', 'reject'], {
    error: 'Use "approve" or "reject". To edit a call, approve it with "input".',
  }),
  note: z.string().max(10_000).optional(),
  argsDigest: z
    .string()
    .regex(/^[\da-f]{64}$/, 'It is no SHA-256 in hexadecimal digits')
    .describe(
      'The `argsDigest` of the approval as it was shown: arguments that are others by now are not decided about',
    )
    .optional(),
  input: z.unknown().describe('What the person changed or added; the workflow gets it').optional(),
});
export type Decision = z.infer<typeof Decision>;
