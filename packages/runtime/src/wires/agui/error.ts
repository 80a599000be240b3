import { toErrorHeaders } from '../../http/answer.ts';
import type { ErrorShape } from '../../http/app.ts';
import { answerWireError } from '../wire-error.ts';

/** How this wire answers what the box refuses before there is a stream: the members of its RUN_ERROR, and what else is known. */
export const AGUI_ERRORS: ErrorShape = {
  prefix: '/agui/',
  answer: (error, requestId) => {
    const { code, message, details } = error;
    return answerWireError(error.status, { code, message, details, requestId }, toErrorHeaders(error));
  },
};
