import type { ContentBlock, Model, Transcript } from '@halting/core'
import type { Stage, StageLimits } from '@halting/core/after'
import { headOf, isOfPerson, isToolUse, tailOf } from '@halting/core/adapters'
import { conversationBlock, speaker, suggestionPrompt } from './after-texts.ts'

const maxEntries = 12
const maxOfAnEntry = 1_500
const maxInAll = 8_000
const longest = 200

// Spec R-AFTER-8.
/**
 * Asks a model what the user may say next and emits it as a one-line `prompt_suggestion` message. The model sees only
 * the latest texts of user and agent, without tool results, so the cost does not grow with the conversation.
 */
export function promptSuggestion(
  options: {
    /** The model to ask. Default: the model of the list of stages. */
    readonly model?: Model
    /** Limits that replace the defaults. */
    readonly limits?: StageLimits
  } = {},
): Stage {
  return {
    name: 'prompt_suggestion',
    limits: { maxBudgetUsd: 0.02, maxTotalTokens: 20_000, maxDurationMs: 15_000, ...options.limits, maxTurns: 1 },
    ...(options.model !== undefined && { model: options.model }),
    async run({ transcript, ask }) {
      const conversation = latestTexts(transcript)
      if (conversation === '') return { kind: 'skipped', message: 'The conversation is empty.' }
      const prompt = conversationBlock(conversation)
      const { text } = await ask({ system: suggestionPrompt, prompt, maxOutputTokens: 1_024 })
      const suggestion = suggestionOf(text)
      if (suggestion === '') return { kind: 'skipped', message: 'No next step is obvious.' }
      return { kind: 'done', messages: [{ type: 'prompt_suggestion', suggestion }] }
    },
  }
}

/** The latest texts of user and agent, each shortened; optionally with the agent's tool calls. */
export function latestTexts(transcript: Transcript, shows: TextSelection = 'text'): string {
  const excerpts: string[] = []
  const entries = transcript.since(0)
  for (let index = entries.length - 1; index >= 0 && excerpts.length < maxEntries; index--) {
    const entry = entries[index]
    if (entry?.kind === 'assistant' && entry.error === undefined)
      excerpts.push(line('Agent', entry.message.content, shows))
    else if (entry?.kind === 'user' && isOfPerson(entry)) excerpts.push(line('User', entry.message.content))
    if (excerpts.at(-1) === '') excerpts.pop()
  }
  return tailOf(excerpts.toReversed().join('\n'), maxInAll)
}

type TextSelection = 'text' | 'text+calls'

function line(who: 'Agent' | 'User', content: string | readonly ContentBlock[], shows: TextSelection = 'text'): string {
  const texts = typeof content === 'string' ? [content] : content.flatMap((block) => textIn(block, shows))
  const text = texts.join('\n').trim()
  // Frames each text so that no text of the conversation can close the frame.
  return text === '' ? '' : speaker(who, headOf(text, maxOfAnEntry).replaceAll(/<\/?conversation/gi, '[conversation'))
}

function textIn(block: ContentBlock, shows: TextSelection): readonly string[] {
  if (isToolUse(block)) return shows === 'text' ? [] : [`${block.name} ${JSON.stringify(block.input)}`]
  return 'text' in block && block.type === 'text' && typeof block.text === 'string' ? [block.text] : []
}

/** Terminal escape sequences, with their parameters. */
// oxlint-disable-next-line no-control-regex -- control characters are what is taken out
const sequences = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?)/g
/** Control characters, bidirectional controls and invisible characters. */
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu

/** The suggestion as one line of plain text; '' if none exists. */
export function suggestionOf(answer: string): string {
  const [first = ''] = answer
    .trim()
    .split(/[\r\n\u0085\u2028\u2029]/)
    .filter((each) => each.trim() !== '')
  const text = first
    .replaceAll(sequences, '')
    .replaceAll('\t', ' ')
    .replaceAll(unseen, '')
    .trim()
    .replace(/^(["'`])(.*)\1$/, '$2')
    .trim()
  // A very long line is not a suggestion.
  return /^NONE\b/.test(text) || text.length > longest ? '' : text
}
