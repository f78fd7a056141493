import { ConfigurationError } from '../values/errors.ts'
import type { CompactionReply } from '../model/questions.ts'
import { textOf, type ModelMessage, type UserMessage } from '../model/messages.ts'
import type { Model } from '../model/model.ts'
import { headOf } from '../values/text.ts'
import { Evidence, type NoEvidence } from './evidence.ts'
import { maxQuotes } from './evidence-limits.ts'
import type { Goal, GoalContext, GoalVerdict } from './goal.ts'
import { judgementOf, judgeQuestion, roomIn, type Judgement } from './judge-question.ts'
import {
  afterEmptyAnswer,
  judgeAborted,
  judgedMet,
  judgedUnmet,
  judgedWithoutEvidence,
  judgeFailed,
  judgeOverBudget,
  judgeSystem,
  judgeUnreadable,
  missingUnknown,
  noQuote,
  nothingToQuote,
  quoteRefusal,
  tooManyQuotes,
  unreadableAnswer,
  uselessEvidence,
} from './judge-texts.ts'

/** How a judged goal is judged. */
export interface JudgedGoalOptions {
  /** The model that judges. Default: the run's own model. Any other must be listed in `models` of the run. */
  readonly model?: Model
  /** Time limit of one check in milliseconds (default: 600,000). */
  readonly timeoutMs?: number
  /** Required number of consecutive "met" verdicts, 1 to 100 (default: 1). */
  readonly stable?: number
  /**
   * Decides which calls have results that are not evidence: calls that read back a file that this session wrote, and
   * calls whose result a model wrote (agents, searches). Core knows no tools, so without it all results count.
   * `evidenceRules` of `@halting/agent` is an implementation for the tools of the coding agent.
   */
  readonly noEvidence?: NoEvidence
}

/**
 * Maximum number of questions in one check: a second one is asked if the answer is not a verdict, its quotes do not
 * count, or the conversation was too long.
 */
export const maxQuestions = 2

const usualTimeoutMs = 600_000
const maxReplyTokens = 4_000
/** Maximum characters of a judge's answer in a report. */
const maxReportLength = 4_000

// Spec R-GOAL-50.
/**
 * A goal in words that a model judges, for conditions that no program can check. Prefer a command if there is one. The
 * judge is asked within the run's budget and runs nothing. A "met" counts only with quotes. Each has at least 20
 * characters, comes from a tool result since the last change, and was not written by the model itself.
 *
 * What it cannot determine:
 * - whether the quotes are relevant to the goal: that is the judge's opinion, and text that it reads can mislead a
 * judge;
 * - whether a program does what its name says: a script or a test that the model wrote may print anything, in parts that
 * are assembled when it runs, encrypted or compressed; `noEvidence` refuses those that are seen to be run;
 * - the origin of a file that a program, an agent or a server wrote, if the model's calls do not name it;
 * - what happened in parallel with a change in the same command, or through someone else since then.
 *
 * Protect the files that the goal depends on, and read the quotes in the report of the check.
 *
 * `judgedBy`: the model that judges, one of those of the run, or options; the run's own model when absent.
 *
 * @throws ConfigurationError for an empty text.
 */
export function judgedGoal(text: string, judgedBy: Model | JudgedGoalOptions = {}): Goal {
  if (typeof text !== 'string' || text.trim() === '')
    throw new ConfigurationError('judgedGoal needs the goal in words, such as "the README describes every flag".')
  const options: JudgedGoalOptions = 'call' in judgedBy ? { model: judgedBy } : judgedBy
  const { timeoutMs, stable } = options
  return {
    name: text,
    judged: true,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(stable !== undefined && { stable }),
    check: (context) => judge(text, options, context),
  }
}

async function judge(goal: string, options: JudgedGoalOptions, context: GoalContext): Promise<GoalVerdict> {
  const { transcript } = context.state
  const evidence = new Evidence(transcript, context.changes, options.noEvidence ?? (() => undefined))
  // Without anything to quote, only one verdict is possible, so no question is asked.
  if (evidence.isEmpty) return unmet(withoutQuotes(evidence))
  const room = roomIn(options.model?.contextWindow)
  const question = (tokens: number): string => judgeQuestion(goal, transcript, evidence.results, tokens)
  let messages: Conversation = [userMessage(question(room))]
  for (let asked = 1; ; asked++) {
    const reply = await ask(options, context, messages)
    const isLast = asked >= maxQuestions || context.signal.aborted
    const read = readReply(reply, evidence)
    if (read.kind === 'verdict' || isLast) return read.verdict
    if (read.kind === 'too_long') messages = [userMessage(question(Math.floor(room / 4)))]
    else messages = askedAgain(messages, reply, read.problem)
  }
}

function ask(
  { model, timeoutMs = usualTimeoutMs }: JudgedGoalOptions,
  { ask: askModel }: GoalContext,
  messages: Conversation,
): Promise<CompactionReply> {
  return askModel({
    system: judgeSystem,
    messages,
    maxOutputTokens: maxReplyTokens,
    // Both questions fit into the time limit of the check.
    timeoutMs: timeoutMs / maxQuestions,
    ...(model !== undefined && { model }),
  })
}

type ReplyVerdict =
  | { readonly kind: 'verdict'; readonly verdict: GoalVerdict }
  /** The verdict if no further question is asked. */
  | { readonly kind: 'too_long'; readonly verdict: GoalVerdict }
  | { readonly kind: 'again'; readonly problem: string; readonly verdict: GoalVerdict }

function readReply(reply: CompactionReply, evidence: Evidence): ReplyVerdict {
  switch (reply.kind) {
    case 'aborted':
      return { kind: 'verdict', verdict: unmet(judgeAborted) }
    case 'over_budget':
      return { kind: 'verdict', verdict: unmet(judgeOverBudget) }
    case 'failed': {
      const { kind, message } = reply.error
      const verdict = unmet(judgeFailed(headOf(message, 1_000)))
      return { kind: kind === 'prompt_too_long' ? 'too_long' : 'verdict', verdict }
    }
    case 'answered': {
      const judgement = reply.streamError === null ? judgementOf(textOf(reply.message.content)) : undefined
      if (judgement !== undefined) return readJudgement(judgement, evidence)
      return { kind: 'again', problem: unreadableAnswer, verdict: unmet(judgeUnreadable) }
    }
  }
}

function readJudgement({ met, evidence: quotes, missing }: Judgement, evidence: Evidence): ReplyVerdict {
  if (!met) {
    const what = missing.trim() === '' ? missingUnknown : headOf(missing.trim(), maxReportLength)
    return { kind: 'verdict', verdict: unmet(judgedUnmet(what)) }
  }
  const refusals = refusalsOf(quotes, evidence)
  if (refusals.length === 0) return { kind: 'verdict', verdict: { met: true, report: judgedMet(quotes) } }
  const list = refusals.join('\n')
  return {
    kind: 'again',
    problem: uselessEvidence(list),
    verdict: unmet(judgedWithoutEvidence(list)),
  }
}

/** Lines for the quotes that do not count, or for missing quotes. */
function refusalsOf(quotes: readonly string[], evidence: Evidence): readonly string[] {
  if (quotes.length === 0) return [noQuote]
  if (quotes.length > maxQuotes) return [tooManyQuotes]
  return quotes.flatMap((quote) => {
    const refusal = evidence.refusalOf(quote)
    return refusal === undefined ? [] : [quoteRefusal(quote, refusal)]
  })
}

function withoutQuotes({ results }: Evidence): string {
  const last = results.at(-1)
  return nothingToQuote(last && { tool: headOf(last.call.name, 100), why: last.refusal ?? '' })
}

function unmet(report: string): GoalVerdict {
  return { met: false, report }
}

/** The question to a judge, followed by all later messages. */
type Conversation = readonly [UserMessage & { readonly content: string }, ...ModelMessage[]]

function userMessage(content: string): Conversation[0] {
  return { role: 'user', content }
}

/** A service accepts no empty message of a model. */
function askedAgain([question]: Conversation, reply: CompactionReply, problem: string): Conversation {
  const replyText = reply.kind === 'answered' ? headOf(textOf(reply.message.content), 20_000) : ''
  if (replyText.trim() === '') return [userMessage(afterEmptyAnswer(question.content))]
  return [question, { role: 'assistant', content: [{ type: 'text', text: replyText }] }, userMessage(problem)]
}
