import { type Stage, type StageContext, type StageLimits } from '@halting/core/after'
import type { JsonObject, Model } from '@halting/core'
import type { Environment } from '../tools/limits.ts'
import type { Settings } from '@halting/policy/settings'
import { memoryOf, type MemoryOwner, type MemoryPlace } from './places.ts'
import { type Ask, dream, type DreamEnd, extract, type ExtractionResult } from './run-memory.ts'
import { userStatementsIn } from './user-statements.ts'

/** Common options of memory stages. */
export interface MemoryStageOptions {
  /** The owner of the notes. */
  readonly owner: MemoryOwner
  /** The location of the notes. */
  readonly place: MemoryPlace
  /** The model to ask. Default: the model of the list of stages. */
  readonly model?: Model
  /** Returns the current time. Default: the system's clock. */
  readonly now?: () => Date
}

/** Options of the stage that extracts notes after a run. */
export interface ExtractionStageOptions extends MemoryStageOptions {
  /** Environment variables whose values identify secrets. */
  readonly env: Environment
  /** The part of the prompt that the user typed, if the message has more (`UserStatementsOptions.written`). */
  readonly typedText?: string | undefined
}

/** Replies are lists of numbers. */
const maxReplyTokens = 1_024
// Spec R-LAP-1.
/** Answers that do not match the schema have their own retry limit and use no turn. */
const maxTurns = 2

// Spec R-MEM-4.
/** A stage after a run: stores statements of the user that later sessions should know. */
export function memoryStage({
  place,
  env,
  typedText: written,
  model,
  now = () => new Date(),
}: ExtractionStageOptions): Stage {
  return {
    name: 'memory',
    limits: { maxTurns },
    ...(model !== undefined && { model }),
    async run(context) {
      const { sessionId, runId, transcript } = context
      const entries = transcript.since(0).filter(({ id }) => id.startsWith(`${runId}/`))
      const statements = userStatementsIn(entries, { sessionId, env, typedText: written })
      const end = await extract(place, statements, asking(context), now(), context.signal)
      if (end.kind === 'nothing said') return { kind: 'skipped', message: 'There was nothing to remember.' }
      if (end.kind === 'failed') throw new Error(end.why)
      return { kind: 'done', message: wordsOf(end), details: factsOf(end) }
    },
  }
}

function wordsOf({ added, merged, refused }: Extract<ExtractionResult, { kind: 'kept' }>): string {
  const parts = [
    ...(added.length === 0 ? [] : [`added ${added.map(({ topic, note }) => `${note.id} (${topic})`).join(', ')}`]),
    ...(merged.length === 0 ? [] : [`${merged.length} already known`]),
    ...(refused.length === 0 ? [] : [`rejected ${refused.length}: ${[...new Set(refused)].join('; ')}`]),
  ]
  return parts.length === 0 ? 'There was nothing worth remembering.' : `Notes: ${parts.join(', ')}.`
}

function factsOf({ added, merged, refused }: Extract<ExtractionResult, { kind: 'kept' }>): JsonObject {
  const notes = added.map(({ topic, note: { id, text, sources } }) => ({
    id,
    topic,
    text,
    sources: sources.map(({ sessionId, messageId }) => ({ session_id: sessionId, message_uuid: messageId })),
  }))
  return { added: notes, merged: merged.length, refused: [...refused] }
}

/** Options of the stage that consolidates notes after a run. */
export interface DreamStageOptions extends MemoryStageOptions {
  /** `due`: only if enough sessions and hours have passed. */
  readonly when: 'due' | 'whenever'
  /** Called with the result. */
  readonly onEnd?: (end: DreamEnd) => void
}

/** Limits of a dream, which processes all notes. */
const dreamLimits: StageLimits = { maxTurns, maxBudgetUsd: 0.5, maxTotalTokens: 100_000, maxDurationMs: 120_000 }

// Spec R-DREAM-2.
/** A stage after a run: consolidates the notes with one question. */
export function dreamStage(options: DreamStageOptions): Stage {
  const { owner, place, when, model, now = () => new Date() } = options
  return {
    name: 'dream',
    limits: dreamLimits,
    ...(model !== undefined && { model }),
    async run(context) {
      const end = await dream(place, { owner, ask: asking(context), now: now(), when, signal: context.signal })
      options.onEnd?.(end)
      if (end.kind === 'not due') return { kind: 'skipped', message: 'It is not due yet.' }
      if (end.kind === 'nothing to do') return { kind: 'skipped', message: 'There are fewer than two notes.' }
      if (end.kind === 'failed') throw new Error(end.why)
      const { before, after, merged, dropped } = end
      return {
        kind: 'done',
        message: `Notes: ${before} before, ${after} now; Revert with halting memory dream undo.`,
        details: { before, after, merged, dropped: dropped.map(({ id }) => id) },
      }
    },
  }
}

/** Asks the model of a stage. A limit or an abort rejects and ends the stage. */
function asking(context: StageContext): Ask {
  return async ({ system, prompt, output }) => {
    const { output: answer } = await context.ask({ system, prompt, output, maxTurns, maxOutputTokens: maxReplyTokens })
    return answer === undefined ? { kind: 'failed', why: 'the model gave no answer' } : { kind: 'answered', answer }
  }
}

/** Options of all memory stages after a run. */
export interface MemoryStagesOptions {
  /** The owner of the notes. */
  readonly owner: MemoryOwner
  /** The settings, which select the stages. */
  readonly settings: Settings
  /** The model to ask. */
  readonly model: Model
  /** The part of the prompt that the user typed, without piped input. */
  readonly typedText?: string | undefined
}

// Spec R-MEM-1.
/** The stages that the user's settings enable; none by default. */
export function memoryStages({ owner, settings, model, typedText: written }: MemoryStagesOptions): readonly Stage[] {
  const place = memoryOf(owner, settings)
  if (place === undefined) return []
  const common = { owner, place, model }
  const stage = memoryStage({ ...common, env: owner.env, typedText: written })
  if (settings.autoDreamEnabled !== true) return [stage]
  return [stage, dreamStage({ ...common, when: 'due' })]
}
