import { randomUUID } from 'node:crypto'
import type { Opening, SessionRequest } from '@halting/restate'
import type { LimitsChange } from '@halting/core'
import type { FlagName, Flags } from '../flags/flags.ts'
import { exitCodeOf } from '../headless/ending.ts'
import { watchInterruption } from '../headless/interruption.ts'
import { told } from '../io/figures.ts'
import { readPiped } from '../io/stdin.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { askSession } from './ask-session.ts'
import { clusterOf, refuseFlagsOfWorker } from './of-cluster.ts'
import { answerIn, questionLine, tellEnding } from './report.ts'

/** What this program heeds itself, or hands to the worker. */
const heeded: readonly FlagName[] = [
  'print',
  'cluster',
  'admin',
  'sessionId',
  'resume',
  'model',
  'maxTurns',
  'maxBudgetUsd',
  'maxTokens',
  'maxDuration',
  'outputFormat',
  'quiet',
  'verbose',
]

/** `halting -p PROMPT --cluster URL`: one prompt to a session of a cluster, and its ending. What is interrupted here ends there. */
export async function promptOnCluster(
  flags: Flags,
  [written = '']: readonly string[],
  program: Program,
): Promise<number> {
  const { output, stdin } = program
  refuseFlagsOfWorker(flags, heeded)
  if (flags.print !== true) throw new UsageError('--cluster needs -p: halting -p "PROMPT" --cluster URL.')
  if (flags.resume === '')
    throw new UsageError('--resume needs the ID of a session; halting sessions --cluster URL lists them.')
  if (flags.outputFormat === 'stream-json')
    throw new UsageError('--cluster tells the answer (text), or the result (--output-format json).')
  const client = clusterOf(flags)
  const piped = await readPiped(stdin, output, written.trim() !== '' || flags.resume !== undefined)
  const prompt = [written, piped].filter((part) => part.trim() !== '').join('\n\n')
  const sessionId = flags.resume ?? flags.sessionId ?? randomUUID()
  const isNew = (await client.status(sessionId)).records === 0
  checkSession(flags, sessionId, { isNew, prompt })
  const interruption = watchInterruption(output)
  try {
    let answer = ''
    const { terminal, result } = await askSession(client, {
      sessionId,
      opening: isNew ? openingOf(flags) : {},
      ...whatOf(flags, { isNew, prompt }),
      id: randomUUID(),
      signal: interruption.signal,
      onStalled: (message) => output.err(told(message)),
      onQuestion: (question) => output.err(questionLine(sessionId, question, flags.cluster ?? '')),
      onRecords: (records) => (answer = answerIn(records) || answer),
    })
    if (flags.outputFormat === 'json') output.out(`${JSON.stringify(result)}\n`)
    else if (answer !== '') output.out(`${answer}\n`)
    tellEnding(terminal, flags, program)
    if (flags.outputFormat !== 'json' && flags.quiet !== true) output.err(told(`session ${sessionId}`))
    return exitCodeOf(terminal, interruption.exitCode)
  } finally {
    interruption.release()
  }
}

interface Said {
  readonly isNew: boolean
  readonly prompt: string
}

function checkSession(flags: Flags, sessionId: string, { isNew, prompt }: Said): void {
  if (flags.resume !== undefined && isNew)
    throw new UsageError(
      `No conversation found with session ID: ${sessionId}. halting sessions --cluster ${flags.cluster} lists those of the cluster.`,
    )
  if (flags.resume === undefined && !isNew)
    throw new UsageError(`The session ID ${sessionId} is in use already. Go on with it: --resume ${sessionId}`)
  if (isNew && prompt === '') throw new UsageError('There is no prompt. Write it behind -p, or pipe it in.')
}

/** A session that is there has its own; what is said now is set in it. */
function whatOf(
  flags: Flags,
  { isNew, prompt }: Said,
): { before: readonly SessionRequest[]; request: SessionRequest & { type: 'prompt' | 'resume' } } {
  const limits = limitsOf(flags)
  const isSet = Object.keys(limits).length > 0 || flags.model !== undefined
  const change = { limits, ...(flags.model !== undefined && { model: flags.model }) }
  if (prompt !== '')
    return { before: isNew || !isSet ? [] : [{ type: 'set', change }], request: { type: 'prompt', content: prompt } }
  const before: readonly SessionRequest[] =
    flags.model === undefined ? [] : [{ type: 'set', change: { model: flags.model } }]
  return { before, request: { type: 'resume', limits } }
}

function limitsOf({ maxTurns, maxBudgetUsd, maxTokens, maxDuration }: Flags): LimitsChange {
  return {
    ...(maxTurns !== undefined && { maxTurns }),
    ...(maxBudgetUsd !== undefined && { maxBudgetUsd }),
    ...(maxTokens !== undefined && { maxTotalTokens: maxTokens }),
    ...(maxDuration !== undefined && { maxDurationMs: maxDuration }),
  }
}

function openingOf({ model, maxTurns, maxBudgetUsd, maxTokens, maxDuration }: Flags): Opening {
  return {
    ...(model !== undefined && { model }),
    ...(maxTurns !== undefined && { maxTurns }),
    ...(maxBudgetUsd !== undefined && { maxBudgetUsd }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(maxDuration !== undefined && { maxDurationMs: maxDuration }),
  }
}
