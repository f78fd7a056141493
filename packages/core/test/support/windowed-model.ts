import { estimateMessages, roughTokens } from '../../src/model/tokens.ts'
import type { ModelRequest } from '../../src/index.ts'
import { scriptedModel, transcriptProblems, type ScriptedModel, type ScriptedReply } from '../../src/testing/index.ts'

export interface WindowOptions {
  /** Tokens of input that the service accepts, by its own count. */
  readonly window: number
  /** Its count for each token of our estimate. */
  readonly factor?: number
  /** Whether it counts the output cap against the window, and says so when it reports how much fits. */
  readonly countsOutput?: true
  /** Whether a refusal reports how much fits, and how much was sent. */
  readonly refusalDetail?: 'both' | 'limit' | 'nothing'
  /** The window that we assume. */
  readonly believed?: number
  readonly maxOutputTokens?: number
  readonly defaultOutputTokens?: number
  /** Its answer to a question about the conversation; a short summary by default. */
  readonly summary?: (request: ModelRequest, number: number) => ScriptedReply
  /** Requests of the run, by their number from 1, that it refuses whatever their size. */
  readonly refuses?: (request: number) => boolean
  /** Questions that it refuses whatever their size. */
  readonly refusesQuestions?: boolean
  readonly id?: string
}

export interface WindowedModel extends ScriptedModel {
  /** The accepted and the refused requests, with their sizes. */
  readonly acceptedTokens: readonly number[]
  readonly refused: readonly number[]
  /** The problems of requests, as text. */
  readonly problems: readonly string[]
}

/** Whether a request is about the conversation, and not part of it. */
export const isQuestion = ({ idempotencyKey }: ModelRequest): boolean => /\/(compact|stage):/.test(idempotencyKey)

/** The number of the run's request; the same for each attempt, whichever process makes it. */
const numberOf = ({ idempotencyKey }: ModelRequest): number => Number(/model:(\d+)\./.exec(idempotencyKey)?.[1] ?? 0)

/** A scripted model of a service with its own token count, which refuses what exceeds its window. */
export function windowedModel(
  script: (request: ModelRequest, number: number) => ScriptedReply,
  options: WindowOptions,
): WindowedModel {
  const {
    window,
    factor = 1,
    refusalDetail = 'both',
    believed = window,
    refuses = () => false,
    summary = () => 'A summary.',
  } = options
  const acceptedTokens: number[] = []
  const refused: number[] = []
  const problems: string[] = []
  let questions = 0
  const model = scriptedModel(
    (request) => {
      const { messages, system, tools } = request
      const fixed =
        roughTokens.estimate(system) + (tools.length === 0 ? 0 : roughTokens.estimate(JSON.stringify(tools)))
      const used = Math.ceil(factor * (fixed + estimateMessages(roughTokens, messages)))
      problems.push(...transcriptProblems(messages).map((problem) => `${request.idempotencyKey}: ${problem}`))
      const isAsked = isQuestion(request)
      const isRefused = isAsked ? options.refusesQuestions === true : refuses(numberOf(request))
      const reserved = options.countsOutput === true ? request.maxOutputTokens : 0
      if (used + reserved > window || isRefused) {
        refused.push(used)
        return {
          error: {
            kind: 'prompt_too_long',
            status: 413,
            message:
              refusalDetail === 'both' ? `prompt is too long: ${used} tokens > ${window} maximum` : 'Request too large',
            ...(refusalDetail !== 'nothing' && {
              contextLimit: {
                used: refusalDetail === 'both' ? used : null,
                limit: window,
                ...(options.countsOutput === true && { includesOutput: true as const }),
              },
            }),
          },
        }
      }
      acceptedTokens.push(used)
      const reply = isAsked ? summary(request, questions++) : script(request, numberOf(request))
      if (typeof reply === 'string') return { text: reply, usage: { input_tokens: used } }
      return 'error' in reply || 'hang' in reply ? reply : { ...reply, usage: { input_tokens: used, ...reply.usage } }
    },
    {
      contextWindow: believed,
      maxOutputTokens: options.maxOutputTokens ?? 2_000,
      ...(options.defaultOutputTokens !== undefined && { defaultOutputTokens: options.defaultOutputTokens }),
      ...(options.id !== undefined && { id: options.id }),
    },
  )
  return Object.assign(model, { acceptedTokens, refused, problems })
}
