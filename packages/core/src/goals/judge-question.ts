import { roughTokens } from '../model/tokens.ts'
import { digestOf } from '../values/hash.ts'
import { isJsonObject } from '../values/json.ts'
import { blocksOf, textOf, type ContentBlock } from '../model/messages.ts'
import { headOf } from '../values/text.ts'
import type { Transcript, UserEntry } from '../conversation/transcript.ts'
import { lastPromptOf, type RecordedResult } from './evidence.ts'
import {
  agentCall,
  endsOf,
  framedPart,
  judgeParts,
  judgeQuestionText,
  mayNotBeQuoted,
  omittedParts,
  toolResult,
} from './judge-texts.ts'

/** One message, call or result of the conversation. */
interface Part {
  /** A heading line that we write. */
  readonly head: string
  readonly body: string
  /** Parts of a higher rank are included first if not all fit. */
  readonly rank: 0 | 1 | 2
}

/** Maximum length of a part in characters. */
const maxResultLength = 12_000
const maxOtherLength = 3_000
/** Maximum tokens for the conversation, if the window allows them. */
const maxTokens = 40_000
/** Share of a window. The rest is for the frame of the question, the reply and the error of the estimate. */
const shareOfWindow = 0.5

/** Tokens of the conversation that fit into a question for a model with this window; `undefined` for an unknown window. */
export function roomIn(contextWindow: number | undefined): number {
  return Math.min(maxTokens, Math.floor((contextWindow ?? Infinity) * shareOfWindow))
}

/**
 * Builds the question: the goal, and the conversation since the prompt, in order. Omissions are marked. The prompt and
 * the newest results that may be quoted are included first, then the rest, the newest first.
 */
export function judgeQuestion(
  goal: string,
  transcript: Transcript,
  results: readonly RecordedResult[],
  room: number,
): string {
  const parts = fitting(partsOf(transcript, results), room)
  const mark = markFor([goal, ...parts.flatMap((part) => (typeof part === 'number' ? [] : [part.head, part.body]))])
  const framed = parts.map((part) =>
    typeof part === 'number' ? omittedParts(part) : framedPart(part.head, part.body, mark),
  )
  return judgeQuestionText(framedPart(judgeParts.goal, goal, mark), framed)
}

/** A word that occurs in none of the texts. It is derived from the texts, so no author of a text can have known it. */
function markFor(texts: readonly string[]): string {
  const all = texts.join('\n')
  for (let link = 0; ; link++) {
    const mark = `#${digestOf(all, link)}`
    if (!all.includes(mark)) return mark
  }
}

function partsOf(transcript: Transcript, results: readonly RecordedResult[]): readonly Part[] {
  const from = lastPromptOf(transcript)
  const parts: Part[] = []
  for (let at = from; at < transcript.length; at++) {
    const entry = transcript.at(at)
    if (entry?.kind === 'assistant' && entry.error === undefined)
      for (const block of entry.message.content) parts.push(...partOfModel(block))
    if (entry?.kind !== 'user') continue
    if (entry.origin !== 'tool_results') parts.push(...partOfUser(entry, at === from))
    else parts.push(...results.filter((result) => result.at === at).map(partOfResult))
  }
  return parts
}

function partOfModel(block: ContentBlock): readonly Part[] {
  if (block.type === 'text' && typeof block.text === 'string')
    return [{ head: judgeParts.agentText, body: endsOf(block.text, maxOtherLength), rank: 0 }]
  if (block.type !== 'tool_use' && !block.type.endsWith('_tool_use')) return []
  const { name, input } = block as { name?: unknown; input?: unknown }
  return [
    {
      head: agentCall(plainLine(String(name))),
      body: endsOf(JSON.stringify(input) ?? '', maxOtherLength),
      rank: 0,
    },
  ]
}

function partOfUser({ message, origin }: UserEntry, isFirst: boolean): readonly Part[] {
  const text = textOf(blocksOf(message.content))
  if (text === '') return []
  const isOfPerson = origin === 'prompt' || origin === 'steer' || origin === 'follow_up'
  return [
    {
      head: isOfPerson ? judgeParts.user : judgeParts.program,
      body: endsOf(text, maxOtherLength),
      rank: isFirst ? 2 : 0,
    },
  ]
}

function partOfResult({ call, texts, refusal }: RecordedResult): Part {
  const mayBe = refusal === undefined ? judgeParts.mayBeQuoted : mayNotBeQuoted(plainLine(refusal))
  const body = endsOf(texts.join('\n'), refusal === undefined ? maxResultLength : maxOtherLength)
  return { head: toolResult(plainLine(call.name), mayBe), body, rank: refusal === undefined ? 1 : 0 }
}

/** Reduces a text to one line. */
function plainLine(text: string): string {
  return headOf(text.replaceAll(/[\s\p{C}]+/gu, ' '), 200)
}

/** The parts that fit, in order; a number stands for that many omitted parts. */
function fitting(parts: readonly Part[], room: number): readonly (Part | number)[] {
  const isShown = new Set<number>()
  let left = room
  for (const rank of [2, 1, 0] as const) {
    for (let index = parts.length - 1; index >= 0; index--) {
      const part = parts[index]
      if (part?.rank !== rank) continue
      left -= roughTokens.estimate(part.head) + roughTokens.estimate(part.body) + 20
      // All parts that are older than the first part that does not fit are omitted together.
      if (left < 0) break
      isShown.add(index)
    }
  }
  const result: (Part | number)[] = []
  for (const [index, part] of parts.entries()) {
    const last = result.at(-1)
    if (isShown.has(index)) result.push(part)
    else if (typeof last === 'number') result[result.length - 1] = last + 1
    else result.push(1)
  }
  return result
}

/** The verdict of a judge. */
export interface Judgement {
  readonly met: boolean
  readonly evidence: readonly string[]
  readonly missing: string
}

/** Parses a verdict: one JSON object, alone, in a fence or within other text. Undefined for anything else, and for more than one object. */
export function judgementOf(text: string): Judgement | undefined {
  const fenced = [...text.matchAll(/```(?:json)?[^\S\n]*\n([\s\S]*?)\n?[^\S\n]*```/gi)].map(([, inside = '']) => inside)
  const [start, end] = [text.indexOf('{'), text.lastIndexOf('}')]
  const bare = start === -1 ? [] : [text.slice(start, end + 1)]
  for (const candidates of [bare, fenced]) {
    const read = candidates.map(readJudgement).filter((each) => each !== undefined)
    if (read.length > 0) return read.length === 1 ? read[0] : undefined
  }
  return undefined
}

function readJudgement(text: string): Judgement | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isJsonObject(value) || typeof value['met'] !== 'boolean') return undefined
  const { met, evidence, missing } = value
  // An item that is not a string is refused, not skipped.
  const quotes = Array.isArray(evidence) ? evidence.map((part: unknown) => (typeof part === 'string' ? part : '')) : []
  return {
    met,
    evidence: typeof evidence === 'string' ? [evidence] : quotes,
    missing: typeof missing === 'string' ? missing : '',
  }
}
