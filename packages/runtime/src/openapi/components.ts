import { z } from 'zod';
import { Actor } from '../activity/activity.ts';
import { Approval } from '../approvals/approval.ts';
import { ApiKey } from '../keys/api-key.ts';
import { CatalogDetail } from '../catalog/entry.ts';
import { ConfigValue } from '../config-values/config-values.ts';
import { Contract } from '../health/contract.ts';
import { EvalCase } from '../evals/case.ts';
import { EvalRun } from '../evals/run.ts';
import { Scorer } from '../evals/scorer.ts';
import { Suite } from '../evals/suite.ts';
import { BrowserInfo } from '../browser/change.ts';
import { Connection } from '../connections/store.ts';
import { Finding } from '../guardrails/dry-run.ts';
import { Guardrail, Hit, ModelCheck } from '../guardrails/store.ts';
import { Job, JobDetail } from '../jobs/job.ts';
import { NotifyDelivery } from '../notify/deliveries.ts';
import { Prompt, PromptText, PromptVersion } from '../prompts/store.ts';
import { Provider } from '../provider/operations.ts';
import { Collection, Document, Hit as RagHit } from '../rag/schemas.ts';
import { LogEntry } from '../logs/entry.ts';
import { RunError } from '../runs/run-error.ts';
import { ListedRun, Run, RunDetail, RunKind, RunStatus, RunTrigger } from '../runs/run.ts';
import { RunStats } from '../runs/stats.ts';
import { Step } from '../runs/steps.ts';
import { Span } from '../runs/timeline.ts';
import { Secret } from '../secrets/secrets.ts';
import { Session, SessionDetail, SessionMessage, SessionTurn } from '../sessions/session.ts';
import { Settings } from '../settings/settings.ts';
import { ObjectStat } from '../storage/operations.ts';
import { Trigger, TriggerDelivery } from '../triggers/store.ts';
import { Signature } from '../triggers/signature.ts';
import { StartReceipt } from '../runs/start-receipt.ts';
import { RunUpgrade, UpgradePage } from '../upgrade/payload.ts';
import { Workflow, WorkflowProblem } from '../catalog/workflow.ts';

const ErrorBody = z
  .object({
    code: z.string().describe('What went wrong; never renamed'),
    message: z.string().describe('A sentence for people; may change'),
    details: z.record(z.string(), z.unknown()).optional(),
    requestId: z.string().describe('As in `x-request-id`; the log of the box names it'),
  })
  .describe('How the box refuses');

const WireAError = z
  .object({
    error: z.object({
      message: z.string(),
      type: z.string(),
      param: z.string().nullable(),
      code: z.string(),
    }),
  })
  .describe('How the chat-completions wire refuses');

const WireBError = z
  .object({
    type: z.literal('error'),
    error: z.object({ type: z.string(), message: z.string() }),
    request_id: z.string(),
  })
  .describe('How the messages wire refuses');

const JsonRpcError = z
  .object({
    jsonrpc: z.literal('2.0'),
    id: z.union([z.string(), z.number(), z.null()]),
    error: z.object({ code: z.int(), message: z.string(), data: z.unknown().optional() }),
  })
  .describe('How MCP refuses');

/** Schemas that answers of several operations share, by the name they have in the document. */
export const COMPONENTS: Record<string, z.ZodType> = {
  ApiKey,
  Actor,
  Approval,
  CatalogEntry: CatalogDetail,
  ConfigValue,
  Contract,
  Error: ErrorBody,
  EvalCase,
  EvalRun,
  EvalSuite: Suite,
  Connection,
  Guardrail,
  GuardrailFinding: Finding,
  GuardrailHit: Hit,
  Job,
  JobDetail,
  NotifyDelivery,
  JsonRpcError,
  ListedRun,
  LogEntry,
  Prompt,
  PromptText,
  PromptVersion,
  Browser: BrowserInfo,
  Provider,
  RagCollection: Collection,
  RagDocument: Document,
  RagHit,
  Run,
  RunDetail,
  RunError,
  RunKind,
  RunStats,
  RunStatus,
  RunTrigger,
  RunUpgrade,
  Secret,
  StoredObject: ObjectStat,
  Session,
  SessionDetail,
  SessionMessage,
  SessionTurn,
  Span,
  Settings,
  StartReceipt,
  Step,
  Trigger,
  TriggerDelivery,
  TriggerSignature: Signature,
  UpgradePage,
  WireAError,
  WireBError,
  Workflow,
  WorkflowProblem,
};

/** The same of inputs, which are written otherwise: what has a default need not be given. */
export const INPUT_COMPONENTS: Record<string, z.ZodType> = { EvalScorer: Scorer, GuardrailModelCheck: ModelCheck };
