import { ConfigurationError } from '../values/errors.ts'
import type { CompactionReply } from '../model/questions.ts'
import { textOf, type ModelMessage, type UserMessage } from '../model/messages.ts'
import type { Model } from '../model/model.ts'
import { headOf } from '../values/text.ts'
import { Evidence, type NoEvidence } from './evidence.ts'
import { mostQuotes } from './evidence-limits.ts'
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
  /** Who judges; the run's own model when absent. Any other must be named in `models` of the run. */
  readonly model?: Model
  /** Milliseconds for one check, 600,000 when absent. */
  readonly timeoutMs?: number
  /** Verdicts in a row that it takes, 1 to 100; 1 when absent. */
  readonly stable?: number
  /**
   * Says of which calls the results are no evidence: those that read a file back that this session wrote, those that a model wrote (agents, searches).
   * Core knows no tools, so without it the results of all tools count; `evidenceRules` of
   * `@halting/agent` is one for the tools of the coding agent.
   */
  readonly noEvidence?: NoEvidence
}

/** Questions of one check: one, and one more where the answer is no verdict, its quotes do not count, or the conversation was too long. */
export const questionsACheck = 2

const usualTimeoutMs = 600_000
const mostReplyTokens = 4_000
/** Characters of what a judge says that go into a report. */
const longestReport = 4_000

// Spec R-GOAL-50.
/**
 * A goal in words, which a model judges: for what no program can check. Prefer a command where there is one. The judge is asked within
 * the run's budget and runs nothing. That it says "met" counts only with quotes: each of at least 20 characters, out of a result of a tool that came after
 * the last change, and not out of what the model itself wrote.
 *
 * What it cannot tell:
 * - whether the quotes bear on the goal: that is the judge's opinion, and a judge can be talked over by what it reads;
 * - whether a program that was run is what its name says: a script or a test that the model wrote may print anything, in parts that are put together when
 *   it runs, encrypted or compressed; `noEvidence` refuses those that are seen to be run;
 * - where a file comes from that a program wrote, an agent, or a server, when the model's calls do not name it;
 * - what happened around a change that was made in the same command, or by somebody else since.
 *
 * Protect what the goal rests on, and read the quotes: they are in the report of the check.
 *
 * `judgedBy`: the model that judges, one of those of the run, or options; the run's own model when absent.
 *
 * @throws ConfigurationError without words.
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
  // Without anything to quote there is one verdict, and no question is needed for it.
  if (evidence.isEmpty) return unmet(withoutQuotes(evidence))
  const room = roomIn(options.model?.contextWindow)
  const question = (tokens: number): string => judgeQuestion(goal, transcript, evidence.results, tokens)
  let messages: Conversation = [userMessage(question(room))]
  for (let asked = 1; ; asked++) {
    const reply = await ask(options, context, messages)
    const isLast = asked >= questionsACheck || context.signal.aborted
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
    maxOutputTokens: mostReplyTokens,
    // Both questions have room in the time of the check.
    timeoutMs: timeoutMs / questionsACheck,
    ...(model !== undefined && { model }),
  })
}

type Read =
  | { readonly kind: 'verdict'; readonly verdict: GoalVerdict }
  /** What is the verdict where nothing more is asked. */
  | { readonly kind: 'too_long'; readonly verdict: GoalVerdict }
  | { readonly kind: 'again'; readonly problem: string; readonly verdict: GoalVerdict }

function readReply(reply: CompactionReply, evidence: Evidence): Read {
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

function readJudgement({ met, evidence: quotes, missing }: Judgement, evidence: Evidence): Read {
  if (!met) {
    const what = missing.trim() === '' ? missingUnknown : headOf(missing.trim(), longestReport)
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

/** Lines for the quotes that do not count, and for there being none. */
function refusalsOf(quotes: readonly string[], evidence: Evidence): readonly string[] {
  if (quotes.length === 0) return [noQuote]
  if (quotes.length > mostQuotes) return [tooManyQuotes]
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

/** What a judge is asked, and after it what came of that. */
type Conversation = readonly [UserMessage & { readonly content: string }, ...ModelMessage[]]

function userMessage(content: string): Conversation[0] {
  return { role: 'user', content }
}

/** A service takes no empty message of a model. */
function askedAgain([question]: Conversation, reply: CompactionReply, problem: string): Conversation {
  const said = reply.kind === 'answered' ? headOf(textOf(reply.message.content), 20_000) : ''
  if (said.trim() === '') return [userMessage(afterEmptyAnswer(question.content))]
  return [question, { role: 'assistant', content: [{ type: 'text', text: said }] }, userMessage(problem)]
}
