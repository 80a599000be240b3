import type { StepContext } from '../../engine/context.ts';
import type { JudgeBySchema } from '../../schema/json-schema/compile.ts';
import type { Observed } from '../observed.ts';
import { toStorableText } from '../paging.ts';
import type { RunCase, ScoredCell } from '../run.ts';
import { columnOf } from '../scorer.ts';
import type { Scorer } from '../scorer.ts';
import type { DefinedScorer } from '../define-scorer.ts';
import { scoreByJudge, scoreSemantic } from './asked.ts';
import { scoreByCode } from './coded.ts';
import { scoreContains, scoreExact, scoreJsonSchema, scoreNumeric, scoreRegex } from './compared.ts';
import { scoreCost, scoreLatency, scoreTokens, scoreTrajectory } from './measured.ts';
import type { Subject, Verdict } from './verdict.ts';

export interface Scoring {
  /** The step it is part of, which the calls of models count for. */
  step: StepContext;
  /** Takes secrets out of a text. */
  hide(text: string): string;
  /** Of a judge that names none: that of what is judged may be another. */
  judgeModel(): Promise<string | undefined>;
  /** Of the workspace's own. Throws where it cannot be asked. */
  codeScorer(name: string): DefinedScorer;
  /** Reads a JSON Schema, which comes again with each case. Throws where it is not understood. */
  readSchema(schema: unknown): JudgeBySchema;
}

export interface Scored {
  score: number;
  passed: boolean;
  cells: ScoredCell[];
}

/** Asks every scorer of the case, one after the other. One that cannot be asked fails what it was asked of. */
export async function scoreAll(
  { scorers, expected, input }: Pick<RunCase, 'scorers' | 'expected' | 'input'>,
  observed: Observed,
  { step, hide, ...rest }: Scoring,
): Promise<Scored> {
  const subject: Subject = { observed, expected, input };
  const cells: ScoredCell[] = [];
  for (const scorer of scorers) {
    step.signal.throwIfAborted();
    const common = { scorer: columnOf(scorer), weight: scorer.weight };
    try {
      const { score, passed, note } = await ask(scorer, subject, { step, ...rest });
      cells.push({
        ...common,
        score,
        passed,
        ...(note === undefined ? {} : { note: toStorableText(hide(note), 400) }),
      });
    } catch (error) {
      // The run is cancelled, or this process ends: that says nothing of the answer.
      step.signal.throwIfAborted();
      const said = toStorableText(hide(error instanceof Error ? error.message : String(error)), 400);
      cells.push({ ...common, score: 0, passed: false, error: said });
    }
  }
  const weight = cells.reduce((sum, cell) => sum + cell.weight, 0);
  const score = weight === 0 ? 1 : cells.reduce((sum, cell) => sum + cell.score * cell.weight, 0) / weight;
  return { score, passed: cells.every((cell) => cell.passed), cells };
}

// --- internal ---

async function ask(
  scorer: Scorer,
  subject: Subject,
  { step, judgeModel, codeScorer, readSchema }: Omit<Scoring, 'hide'>,
): Promise<Verdict> {
  switch (scorer.type) {
    case 'exact':
      return scoreExact(scorer, subject);
    case 'contains':
      return scoreContains(scorer, subject);
    case 'regex':
      return scoreRegex(scorer, subject);
    case 'json-schema':
      return scoreJsonSchema(scorer, subject, readSchema);
    case 'numeric':
      return scoreNumeric(scorer, subject);
    case 'semantic':
      return scoreSemantic(scorer, subject, step);
    case 'trajectory':
      return scoreTrajectory(scorer, subject);
    case 'tokens':
      return scoreTokens(scorer, subject);
    case 'cost':
      return scoreCost(scorer, subject);
    case 'latency':
      return scoreLatency(scorer, subject);
    case 'judge':
      return scoreByJudge({ ...scorer, model: scorer.model ?? (await judgeModel()) }, subject, step);
    case 'code':
      return scoreByCode(codeScorer(scorer.scorer), subject, step);
  }
}
