import { findEndpoint } from '../account/endpoint.ts';
import { readLink } from '../account/project-link.ts';
import { needSession, noPlane } from '../account/session.ts';
import { toSegment } from '../client/client.ts';
import { CliError, usageError } from '../errors.ts';
import { object, string } from '../payload/payload.ts';
import { findProject } from '../client/target.ts';
import { defineVerb } from '../verb.ts';
import type { Context } from '../context.ts';

export const link = defineVerb({
  examples: [
    'svc link 4f7c0f0e-5d0c-4b0e-9d52-0c9f6f9a1f10 --url https://box.example.com --image-tag shop:12',
    'svc link --url https://box.example.com --image-tag shop:12 < hmac-secret.txt',
  ],
  args: {
    installation: {
      type: 'positional',
      description: "The agent's id at the control plane. Default: the one this workspace is linked to.",
    },
    url: { type: 'string', valueHint: 'address', description: 'Where the box answers.' },
    'image-tag': { type: 'string', valueHint: 'tag', description: 'The tag of the image it runs.' },
  },
  payload: object({
    installationId: string("The agent's id."),
    url: string('Where the box answers.'),
    imageTag: string('The tag of the image it runs.'),
    endpoint: string('The address of the control plane that knows it.'),
  }),
  async run({ installation, url, 'image-tag': imageTag }, context) {
    const root = findProject(context.cwd);
    const endpoint = findEndpoint({ env: context.env, root });
    if (endpoint === undefined) throw noPlane();
    const session = needSession(endpoint, context);
    const kept = root === undefined ? undefined : readLink(root);
    const installationId = installation ?? (kept?.endpoint === endpoint ? kept.installationId : undefined);
    if (!installationId)
      throw new CliError('not_linked', 'No agent is named, and this folder is not linked to one.', {
        suggestion: 'Name it: svc link <installation> --url <address> --image-tag <tag>',
      });
    const body = {
      url: parseBoxAddress(await need(url, { flag: 'url', question: 'Address of the box: ' }, context)),
      imageTag: await parseTag(await need(imageTag, { flag: 'image-tag', question: 'Tag of its image: ' }, context)),
      hmacSecret: await readSecret(context),
    };
    const path = `/api/v1/installations/${toSegment(installationId)}/deployments`;
    await session.request({ method: 'POST', path, body });
    const data = { installationId, url: body.url, imageTag: body.imageTag, endpoint };
    return {
      data,
      human: ({ green }) => `${green('Linked')} ${body.url} at ${endpoint}`,
      hint: `See its runs with: svc runs list --agent ${installationId}`,
    };
  },
});

// --- internal ---

async function need(
  given: string | undefined,
  { flag, question }: { flag: string; question: string },
  { mayAsk, ask }: Context,
): Promise<string> {
  const text = given ?? (mayAsk ? (await ask(question)).trim() : '');
  if (text) return text;
  throw usageError(`"svc link" needs --${flag}.`, `For example: ${link.examples[0]}`);
}

/** Never a flag: a command line is kept in histories and seen by every program of the machine. */
async function readSecret({ env, mayAsk, ask, readStdin }: Context): Promise<string> {
  const given =
    env.HMAC_SECRET ?? (mayAsk ? await ask('HMAC_SECRET of the box: ', { isHidden: true }) : await readStdin());
  if (given?.trim()) return given.trim();
  throw usageError(
    'The HMAC_SECRET of the box is missing.',
    'Set HMAC_SECRET, or bring it on stdin: svc link … < hmac-secret.txt',
  );
}

async function parseTag(text: string): Promise<string> {
  const { isImageReference } = await import('@svc/compiler');
  if (isImageReference(text)) return text;
  throw usageError(`--image-tag is "${text}", which is no name of an image.`, 'For example: --image-tag shop:12');
}

function parseBoxAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.pathname === '/' && !url.search && !url.hash && !url.username)
    return url.origin;
  throw usageError(`--url does not take "${text}".`, 'Use scheme, host and port, as in https://box.example.com.');
}
