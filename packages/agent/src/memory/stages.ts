import { type Stage, type StageContext, type StageLimits } from '@halting/core/after'
import type { JsonObject, Model } from '@halting/core'
import type { Environment } from '../tools/limits.ts'
import type { Settings } from '@halting/policy/settings'
import { memoryOf, type MemoryOwner, type MemoryPlace } from './places.ts'
import { type Ask, dream, type DreamEnd, extract, type Extracted } from './run-memory.ts'
import { saidIn } from './said.ts'

/** Whose notes a stage is about, and what it asks. */
export interface MemoryStageOptions {
  /** Whose notes they are. */
  readonly owner: MemoryOwner
  /** Where they are. */
  readonly place: MemoryPlace
  /** Asked in place of the one of the list of stages. */
  readonly model?: Model
  /** The present moment. Default: by the system's clock. */
  readonly now?: () => Date
}

/** Options of the stage that extracts notes after a run. */
export interface ExtractionStageOptions extends MemoryStageOptions {
  /** Secrets are told apart by its values. */
  readonly env: Environment
  /** What the person wrote of the prompt, where the message has more (`SaidOptions.written`). */
  readonly written?: string | undefined
}

/** Replies are lists of numbers. */
const mostReplyTokens = 1_024
// Spec R-LAP-1.
/** Answers that do not fit are sent back by an allowance of their own, which counts no turn of the limit. */
const maxTurns = 2

// Spec R-MEM-4.
/** After a run: keeps what the person said in it and what later sessions should know. */
export function memoryStage({ place, env, written, model, now = () => new Date() }: ExtractionStageOptions): Stage {
  return {
    name: 'memory',
    limits: { maxTurns },
    ...(model !== undefined && { model }),
    async run(context) {
      const { sessionId, runId, transcript } = context
      const entries = transcript.since(0).filter(({ id }) => id.startsWith(`${runId}/`))
      const said = saidIn(entries, { sessionId, env, written })
      const end = await extract(place, said, asking(context), now(), context.signal)
      if (end.kind === 'nothing said') return { kind: 'skipped', message: 'There was nothing to remember.' }
      if (end.kind === 'failed') throw new Error(end.why)
      return { kind: 'done', message: wordsOf(end), details: factsOf(end) }
    },
  }
}

function wordsOf({ added, merged, refused }: Extract<Extracted, { kind: 'kept' }>): string {
  const parts = [
    ...(added.length === 0 ? [] : [`added ${added.map(({ topic, note }) => `${note.id} (${topic})`).join(', ')}`]),
    ...(merged.length === 0 ? [] : [`${merged.length} already known`]),
    ...(refused.length === 0 ? [] : [`rejected ${refused.length}: ${[...new Set(refused)].join('; ')}`]),
  ]
  return parts.length === 0 ? 'There was nothing worth remembering.' : `Notes: ${parts.join(', ')}.`
}

function factsOf({ added, merged, refused }: Extract<Extracted, { kind: 'kept' }>): JsonObject {
  const notes = added.map(({ topic, note: { id, text, sources } }) => ({
    id,
    topic,
    text,
    sources: sources.map(({ sessionId, messageId }) => ({ session_id: sessionId, message_uuid: messageId })),
  }))
  return { added: notes, merged: merged.length, refused: [...refused] }
}

/** Options of the stage that puts notes in order after a run. */
export interface DreamStageOptions extends MemoryStageOptions {
  /** `due` when enough sessions and hours have passed, and else not. */
  readonly when: 'due' | 'whenever'
  /** Called with what came of it. */
  readonly onEnd?: (end: DreamEnd) => void
}

/** Of a dream: it looks at all notes. */
const dreamLimits: StageLimits = { maxTurns, maxBudgetUsd: 0.5, maxTotalTokens: 100_000, maxDurationMs: 120_000 }

// Spec R-DREAM-2.
/** Puts the notes in order, with one question. */
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

/** A bound or an abort rejects, which ends the stage as what it was. */
function asking(context: StageContext): Ask {
  return async ({ system, prompt, output }) => {
    const { output: answer } = await context.ask({ system, prompt, output, maxTurns, maxOutputTokens: mostReplyTokens })
    return answer === undefined ? { kind: 'failed', why: 'the model gave no answer' } : { kind: 'answered', answer }
  }
}

/** Options of all memory stages after a run. */
export interface MemoryStagesOptions {
  /** Whose notes they are. */
  readonly owner: MemoryOwner
  /** The settings, which say what stages there are. */
  readonly settings: Settings
  /** Asked. */
  readonly model: Model
  /** What the person wrote of the prompt, without what was piped in. */
  readonly written?: string | undefined
}

// Spec R-MEM-1.
/** The stages that a person's settings switch on; none where these do not. */
export function memoryStages({ owner, settings, model, written }: MemoryStagesOptions): readonly Stage[] {
  const place = memoryOf(owner, settings)
  if (place === undefined) return []
  const given = { owner, place, model }
  const stage = memoryStage({ ...given, env: owner.env, written })
  if (settings.autoDreamEnabled !== true) return [stage]
  return [stage, dreamStage({ ...given, when: 'due' })]
}
