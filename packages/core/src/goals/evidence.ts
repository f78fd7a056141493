import { blocksOf, isToolResult, textOf, type ToolResultBlock } from '../model/messages.ts'
import type { Changes } from '../verification/goal-progress.ts'
import type { Transcript, TranscriptEntry } from '../conversation/transcript.ts'
import {
  variantsOf,
  longestShared,
  ModelText,
  unsharedLetters,
  type CalledTool,
  type RecordedCall,
} from './model-text.ts'
import { minQuoteLength } from './evidence-limits.ts'
import {
  quoteAssembled,
  quoteEmpty,
  quoteNotFound,
  quoteOfAgent,
  quotePartOfAgent,
  quoteStale,
  quoteTooLong,
  quoteTooShort,
  quoteUnknown,
  quoteWithoutWords,
} from './judge-texts.ts'

/**
 * Returns why the result of a call is not evidence, whatever the result contains: it reads back a file that this session
 * wrote, or a model wrote it. Undefined if it may be evidence. `earlier` are the previous calls of the conversation, in
 * order. The function must be pure.
 */
export type NoEvidence = (call: CalledTool, earlier: readonly CalledTool[]) => string | undefined

/** A tool result since the prompt, as possible evidence. */
export interface RecordedResult {
  readonly call: RecordedCall
  /** Index of its entry in the transcript. */
  readonly at: number
  /** Its texts, as separate strings: a quote must not span two of them. */
  readonly texts: readonly string[]
  /** Why it is not evidence; undefined if it may be quoted. */
  readonly refusal: string | undefined
}

/** Maximum length of a quote in characters; a longer one is refused. */
const maxQuoteLength = 2_000
/** Minimum number of letters: a quote of punctuation proves nothing. */
const minLetters = 8
/** If a run of this many letters and digits occurs in an earlier input, it may have been copied from there. */
const minSharedLetters = 10
/** Word length for comparing words with earlier inputs in any order, or with the input of the same call. */
const inputWordLength = 5
const callWordLength = 3
/** Minimum number of letters and digits of a quote that must be new. */
const minNewLetters = 4

// Spec R-GOAL-52 to R-GOAL-54.
/** The tool results of a conversation, and the model's own texts: quotes are checked against both. */
export class Evidence {
  /** Results since the prompt, in order. */
  readonly results: readonly RecordedResult[]
  readonly #modelText: ModelText
  /** Texts of results without white space. */
  readonly #denseTexts = new Map<string, string>()

  constructor(transcript: Transcript, changes: Changes | undefined, noEvidence: NoEvidence) {
    this.#modelText = new ModelText(transcript)
    this.results = resultsOf(transcript, this.#modelText.calls, changes, noEvidence)
  }

  /** True if no result may be quoted, so a judge has no evidence. */
  get isEmpty(): boolean {
    return this.results.every(({ refusal }) => refusal !== undefined)
  }

  /** Why a quote does not count; undefined if it does. */
  refusalOf(quote: string): string | undefined {
    if (quote.length > maxQuoteLength) return quoteTooLong(maxQuoteLength)
    const dense = quote.replaceAll(/\s/g, '')
    if (dense === '') return quoteEmpty
    const found = this.results.flatMap((result) => {
      const passage = result.texts.map((text) => this.#passageOf(text, dense)).find((each) => each !== undefined)
      return passage === undefined ? [] : [{ result, passage }]
    })
    if (found.length === 0) return quoteNotFound
    let refusal: string | undefined
    for (const { result, passage } of found) {
      const problem = result.refusal ?? this.#problemOf(passage, result)
      if (problem === undefined) return undefined
      refusal = problem
    }
    return refusal
  }

  /** The part of a text that equals the quote except for white space; undefined if no part does. */
  #passageOf(text: string, denseQuote: string): string | undefined {
    const dense = this.#denseTexts.get(text) ?? text.replaceAll(/\s+/g, '')
    this.#denseTexts.set(text, dense)
    const at = dense.indexOf(denseQuote)
    if (at === -1) return undefined
    let [count, start] = [0, 0]
    for (const { index, 0: word } of text.matchAll(/\S+/g)) {
      if (count <= at) start = index + at - count
      count += word.length
      // The passage ends within this word.
      const end = index + word.length - (count - at - denseQuote.length)
      if (count >= at + denseQuote.length) return text.slice(start, end)
    }
    return undefined
  }

  #problemOf(passage: string, result: RecordedResult): string | undefined {
    if (Array.from(passage.replaceAll(/\s+/g, ' ').trim()).length < minQuoteLength) return quoteTooShort
    for (const letters of variantsOf(passage)) {
      const problem = this.#problemOfLetters(letters, result)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  #problemOfLetters(letters: string, { call, at }: RecordedResult): string | undefined {
    if (letters.length < minLetters) return quoteWithoutWords
    if (this.#modelText.containsWhole(letters)) return quoteOfAgent
    const shared = longestShared(
      letters,
      this.#modelText.sharedWithEarlier(letters, at, minSharedLetters),
      minSharedLetters,
    )
    if (shared !== undefined) return quotePartOfAgent(shared)
    const isNew = unsharedLetters(
      letters,
      this.#modelText.sharedWithEarlier(letters, at, inputWordLength),
      inputWordLength,
    )
    const isNewInCall = unsharedLetters(
      letters,
      this.#modelText.sharedWithCall(letters, call.id, callWordLength),
      callWordLength,
    )
    const count = isNew.filter((each, index) => each && isNewInCall[index] === true).length
    return count < minNewLetters ? quoteAssembled : undefined
  }
}

function resultsOf(
  transcript: Transcript,
  calls: readonly RecordedCall[],
  changes: Changes | undefined,
  noEvidence: NoEvidence,
): readonly RecordedResult[] {
  const byId = new Map(calls.map((call, index) => [call.id, index]))
  const fresh = firstFreshResult(transcript, changes)
  const prompt = lastPromptOf(transcript)
  const results: RecordedResult[] = []
  for (let at = prompt; at < transcript.length; at++) {
    const blocks = resultBlocksOf(transcript.at(at))
    for (const [index, block] of blocks.entries()) {
      const place = byId.get(block.tool_use_id)
      const call = place === undefined ? undefined : calls[place]
      if (place === undefined || call === undefined || call.at >= at) continue
      const isStale = at < fresh.at || (at === fresh.at && index < fresh.index)
      const refusal = isStale ? quoteStale : callNoEvidence(noEvidence, call, calls.slice(0, place))
      results.push({ call, at, texts: textsOf(block), refusal })
    }
  }
  return results
}

/** Calls `noEvidence` of the program. If it throws, the result is not evidence. */
function callNoEvidence(noEvidence: NoEvidence, call: CalledTool, earlier: readonly CalledTool[]): string | undefined {
  try {
    return noEvidence(call, earlier)
  } catch {
    return quoteUnknown
  }
}

/**
 * Position of the first fresh result: entry and index. The result of the last change itself is fresh, since a command
 * that runs tests may change files.
 */
function firstFreshResult(
  transcript: Transcript,
  changes: Changes | undefined,
): { readonly at: number; readonly index: number } {
  if (changes === undefined) return { at: 0, index: 0 }
  for (let at = changes.at; at < transcript.length; at++) {
    const index = resultBlocksOf(transcript.at(at)).findIndex(({ tool_use_id: id }) => id === changes.by)
    if (index !== -1) return { at, index }
  }
  return { at: changes.at, index: 0 }
}

/** Index of the person's last message that started a run; 0 without one. */
export function lastPromptOf(transcript: Transcript): number {
  for (let at = transcript.length - 1; at > 0; at--) {
    const entry = transcript.at(at)
    if (entry?.kind === 'user' && entry.origin === 'prompt') return at
  }
  return 0
}

/** Results that tools returned. A person's message cannot contain any. */
function resultBlocksOf(entry: TranscriptEntry | undefined): readonly ToolResultBlock[] {
  if (entry?.kind !== 'user' || entry.origin !== 'tool_results') return []
  return blocksOf(entry.message.content).filter(isToolResult)
}

function textsOf({ content }: ToolResultBlock): readonly string[] {
  if (typeof content === 'string') return [content]
  return content.flatMap((block) => (block.type === 'text' ? [textOf([block])] : []))
}
